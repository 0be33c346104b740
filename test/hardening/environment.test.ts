/**
 * What is left in the environment, or sent by others, weakens no start of the gateway: no debugger, in which another user of the
 * machine could read its keys, and no provider without a valid certificate.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { Workplace } from '../support/cli.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';

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

test('NODE_TLS_REJECT_UNAUTHORIZED lets no host pass for a provider', async (t) => {
  const pem = (name: string) => readFileSync(join(import.meta.dirname, '../faults/certificates', name), 'utf8');
  const host = await FakeUpstream.start({ cert: pem('unknown.crt'), key: pem('host.key') });
  t.after(() => host.close());
  const place = new Workplace(
    t,
    `listen: 127.0.0.1:0
providers:
  host: { kind: openai, base_url: 'https://127.0.0.1:${host.port}/v1', models: { m: { input: 0, output: 0 } } }
`,
  );
  const key = JSON.parse((await place.run(['keys', 'create', 'app', '--json'])).stdout).key as string;
  place.environment.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  const serving = await place.serve();
  assert.equal(await serving.chatOutcome(key, { model: 'host/m' }), '502 upstream_error');
  assert.match(serving.text, /ignored NODE_TLS_REJECT_UNAUTHORIZED=0/);
  assert.equal(host.calls.length, 0);
});
