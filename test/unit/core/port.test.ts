/** Ports between threads: each call has one outcome, that of the function on the other side. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { UserError } from '../../../src/core/errors.ts';
import { Port } from '../../../src/core/port.ts';

interface Calls {
  add(one: number, other: number): Promise<number>;
  hang(): Promise<never>;
  fail(how: 'user' | 'internal' | 'uncloneable' | 'cause'): Promise<unknown>;
  answers(port: MessagePort): Promise<string>;
  note(text: string): void;
}

class Server implements Calls {
  readonly notes: string[] = [];
  async add(one: number, other: number): Promise<number> {
    this.note(`add ${one} ${other}`);
    return one + other;
  }
  hang(): Promise<never> {
    return new Promise(() => {});
  }
  async fail(how: 'user' | 'internal' | 'uncloneable' | 'cause'): Promise<unknown> {
    if (how === 'user') throw new UserError(['one line', 'and another']);
    if (how === 'internal') throw new RangeError('out of it');
    if (how === 'cause') throw new Error('real message', { cause: () => {} });
    return () => {};
  }
  answers(port: MessagePort): Promise<string> {
    return new Promise((resolve) => port.once('message', resolve));
  }
  note(text: string): void {
    this.notes.push(text);
  }
}

function open(t: TestContext) {
  const { port1, port2 } = new MessageChannel();
  t.after(() => port1.close());
  const [server, sent] = [new Server(), [] as string[]];
  const serve = () =>
    new Port<Calls, Record<never, never>>(port2, 'the caller').serve(server, () => sent.push('before a reply'));
  const port = new Port<Record<never, never>, Calls>(port1, 'the server').serve({});
  const hangUp = async () => {
    const closed = once(port1, 'close');
    port2.close();
    await closed;
  };
  return { port, serve, server, sent, hangUp };
}

test('a call resolves with what the function returns, and comes in the order of calls and events', async (t) => {
  const { port, serve, server, sent } = open(t);
  serve();
  port.tell('note', 'first');
  const sums = Promise.all([port.call('add', 1, 2), port.call('add', 3, 4)]);
  port.tell('note', 'last');
  assert.deepEqual(await sums, [3, 7]);
  await port.call('add', 0, 0);
  assert.deepEqual(server.notes, ['first', 'add 1 2', 'add 3 4', 'last', 'add 0 0']);
  assert.equal(sent.length, 3);
});

test('what arrives before anything is served waits, and what is served later takes the place of that', async (t) => {
  const { port, serve, server } = open(t);
  const sum = port.call('add', 1, 2);
  await new Promise((resolve) => setImmediate(resolve));
  const other = serve();
  assert.equal(await sum, 3);
  const notes: string[] = [];
  other.serve({ add: async () => 0, note: (text) => void notes.push(text) });
  port.tell('note', 'once');
  assert.equal(await port.call('add', 1, 2), 0);
  assert.deepEqual([server.notes, notes], [['add 1 2'], ['once']]);
});

test('an error crosses with its kind and message; one of the user with its lines', async (t) => {
  const { port, serve } = open(t);
  serve();
  await assert.rejects(port.call('fail', 'user'), (error) => {
    assert.ok(error instanceof UserError);
    assert.deepEqual(error.lines, ['one line', 'and another']);
    return true;
  });
  await assert.rejects(port.call('fail', 'internal'), new RangeError('out of it'));
  await assert.rejects(port.call('fail', 'uncloneable'), { name: 'DataCloneError' });
  await assert.rejects(port.call('fail', 'cause'), { message: 'Error: real message' });
  for (const name of ['unknown', 'toString', 'constructor'])
    await assert.rejects(port.call(name as 'hang'), new Error(`nothing is served as ${name}`));
});

test('a call whose arguments cannot be sent is rejected', async (t) => {
  const { port, serve } = open(t);
  serve();
  await assert.rejects(port.call('add', (() => {}) as never, 1), { name: 'DataCloneError' });
  assert.equal(await port.call('add', 1, 1), 2);
});

test('a message port that is given is moved to the other side', async (t) => {
  const { port, serve } = open(t);
  serve();
  const { port1, port2 } = new MessageChannel();
  const answer = port.call('answers', port1);
  port2.postMessage('here');
  assert.equal(await answer, 'here');
  port2.close();
});

test('once the other side has ended, open calls and later ones are rejected', async (t) => {
  const { port, serve, hangUp } = open(t);
  serve();
  const calls = [port.call('hang'), port.call('hang')];
  void hangUp();
  for (const call of calls) await assert.rejects(call, new Error('the server has ended'));
  await assert.rejects(port.call('add', 1, 2), new Error('the server has ended'));
  port.tell('note', 'nobody reads this');
});

test('a port that was ended here says why, whatever else ends later', async (t) => {
  const { port, serve, hangUp } = open(t);
  serve();
  const call = port.call('hang');
  port.end(new UserError('refused'));
  await assert.rejects(call, new UserError('refused'));
  await hangUp();
  await assert.rejects(port.call('hang'), new UserError('refused'));
});
