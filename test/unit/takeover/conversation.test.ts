/** Messages between two processes: however the bytes are cut, they arrive whole and in order. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { Conversation, ConversationEnded } from '../../../src/takeover/conversation.ts';

interface Message {
  readonly kind: string;
  readonly body?: unknown;
}

/** A socket whose other side the test plays. */
function open(): { readonly wire: PassThrough; readonly talk: Conversation<Message, Message> } {
  const wire = new PassThrough();
  return { wire, talk: new Conversation<Message, Message>(wire as unknown as Socket) };
}

/** What a conversation sends. */
function bytesOf(messages: readonly Message[]): Buffer {
  const wire = new PassThrough();
  const pieces: Buffer[] = [];
  wire.write = (piece: Buffer) => pieces.push(piece) > 0;
  const talk = new Conversation<Message, Message>(wire as unknown as Socket);
  for (const message of messages) talk.send(message);
  return Buffer.concat(pieces);
}

const MESSAGES: readonly Message[] = [
  { kind: 'first', body: [1n, undefined, null, Float64Array.of(0.5, 2)] },
  { kind: 'second', body: 'x'.repeat(500) },
  { kind: 'third' },
];

test('messages arrive whole and in order, wherever their bytes are cut', async () => {
  const bytes = bytesOf(MESSAGES);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: bytes.length }), { maxLength: 8 }), async (cuts) => {
      const { wire, talk } = open();
      const received: Message[] = [];
      const complete = new Promise<void>((resolve) => {
        talk.listen((message) => {
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

test('a message that nobody waits for yet is kept', async () => {
  const { wire, talk } = open();
  wire.write(bytesOf(MESSAGES));
  for (const message of MESSAGES) assert.deepEqual(await talk.next(message.kind, 5_000, 'it did not come'), message);
});

test('another message than the expected one is a fault that says what it said', async () => {
  const { wire, talk } = open();
  wire.write(bytesOf([{ kind: 'first' }]));
  await assert.rejects(talk.next('second', 5_000, 'it did not come'), /it did not come: it said first/);
});

test('the end of the conversation is a fault of its own kind', async () => {
  const { wire, talk } = open();
  const next = talk.next('first', 5_000, 'it did not come');
  wire.destroy();
  await assert.rejects(next, ConversationEnded);
});

test('a length that no message has ends the conversation', async () => {
  const { wire, talk } = open();
  wire.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
  await talk.ended;
});
