/** Messages between two processes: however the bytes are cut, they arrive whole and in order. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { duplexPair, PassThrough } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Message } from '../../../src/core/channel.ts';
import { UserError } from '../../../src/core/errors.ts';
import { Port } from '../../../src/core/port.ts';
import { Conversation } from '../../../src/takeover/conversation.ts';

/** A socket whose other side the test plays. */
function open(): { readonly wire: PassThrough; readonly talk: Conversation } {
  const wire = new PassThrough();
  return { wire, talk: new Conversation(wire as unknown as Socket) };
}

/** What a conversation sends. */
function bytesOf(messages: readonly Message[]): Buffer {
  const wire = new PassThrough();
  const pieces: Buffer[] = [];
  wire.write = (piece: Buffer) => pieces.push(piece) > 0;
  const talk = new Conversation(wire as unknown as Socket);
  for (const message of messages) talk.postMessage(message);
  return Buffer.concat(pieces);
}

const MESSAGES: readonly Message[] = [
  ['first', 0, [1n, undefined, null, Float64Array.of(0.5, 2)]],
  [2, 'x'.repeat(500)],
  ['third', 3],
];

test('messages arrive whole and in order, wherever their bytes are cut', async () => {
  const bytes = bytesOf(MESSAGES);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: bytes.length }), { maxLength: 8 }), async (cuts) => {
      const { wire, talk } = open();
      const received: Message[] = [];
      const complete = new Promise<void>((resolve) => {
        talk.on('message', (message: Message) => {
          received.push(message);
          if (received.length === MESSAGES.length) resolve();
        });
      });
      const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      for (const [index, place] of places.slice(1).entries()) wire.write(bytes.subarray(places[index], place));
      await complete;
      assert.deepEqual(received, MESSAGES);
    }),
  );
});

test('it carries calls: their results and errors cross, and its end rejects those that are open', async () => {
  const [one, other] = duplexPair().map((side) => new Conversation(side as unknown as Socket));
  assert.ok(one !== undefined && other !== undefined);
  const asked = {
    count: async (numbers: ReadonlySet<bigint>) => numbers.size,
    refuse: async () => {
      throw new UserError(['one line', 'and another']);
    },
    hang: () => new Promise<never>(() => {}),
  };
  new Port<typeof asked, Record<never, never>>(other, 'the caller').serve(asked);
  const port = new Port<Record<never, never>, typeof asked>(one, 'the other process').serve({});
  assert.equal(await port.call('count', new Set([1n, 2n])), 2);
  await assert.rejects(port.call('refuse'), new UserError(['one line', 'and another']));
  const open = port.call('hang');
  one.destroy();
  await assert.rejects(open, new Error('the other process has ended'));
});

test('after its last word nothing more is said, and the last word arrives', async () => {
  const [one, other] = duplexPair().map((side) => new Conversation(side as unknown as Socket));
  assert.ok(one !== undefined && other !== undefined);
  const said = once(other, 'message');
  one.postMessage(['last', 0]);
  one.end();
  one.postMessage(['too late', 0]);
  assert.deepEqual(await said, [['last', 0]]);
  other.on('message', assert.fail);
  other.end();
  await other.ended;
});

test('a length that no message has ends the conversation', async () => {
  const { wire, talk } = open();
  wire.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
  await talk.ended;
});
