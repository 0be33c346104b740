/** No start of the gateway has a debugger, in which another user of the machine could read its keys. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { Workplace } from '../support/cli.ts';

test('SIGUSR1 opens no debugger, with several threads too, and does not end the gateway', async (t) => {
  const place = new Workplace(t);
  place.write('config.yaml', `threads: 2\n${place.read('config.yaml')}`);
  const serving = await place.serve();
  serving.signal('SIGUSR1');
  // The signal was handled by then: what is asked next is answered later.
  assert.equal((await fetch(`${serving.url}/healthz`)).status, 200);
  assert.equal((await place.run(['status'])).status, 0);
  assert.equal(await serving.stop(), 0);
  assert.doesNotMatch(serving.text, /Debugger/);
});

test('a debugger that NODE_OPTIONS opens is closed', async (t) => {
  const place = new Workplace(t);
  place.environment.NODE_OPTIONS = '--inspect=127.0.0.1:0';
  const serving = await place.serve();
  const port = /ws:\/\/127\.0\.0\.1:(\d+)\//.exec(serving.text)?.[1];
  assert.ok(port, serving.text);
  const refused = await new Promise<boolean>((resolve) => {
    const socket = connect(Number(port), '127.0.0.1', () => resolve(false)).on('error', () => resolve(true));
    t.after(() => socket.destroy());
  });
  assert.ok(refused, 'the debugger accepts connections');
  assert.match(serving.text, /closed the debugger that NODE_OPTIONS had opened/);
});
