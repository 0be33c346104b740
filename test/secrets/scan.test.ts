/** The scanner finds every secret, and nothing else. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Scanner } from './scan.ts';

const SECRET = 'Grüße "von" a+b/c~0815-4711-canary';
const scanner = new Scanner({ ours: SECRET, other: 'something else altogether' });
const base64 = (text: string, encoding: BufferEncoding = 'base64') => Buffer.from(text).toString(encoding);

describe('the scanner finds a secret', () => {
  const texts: readonly (readonly [name: string, text: string])[] = [
    ['as it is', SECRET],
    ['in part', SECRET.slice(-12)],
    ['in JSON', JSON.stringify({ text: SECRET })],
    ['in JSON within JSON', JSON.stringify(JSON.stringify({ text: SECRET }))],
    ['in an address', `/path?x=${encodeURIComponent(SECRET)}`],
    ['in a form', new URLSearchParams({ x: SECRET }).toString()],
    ['in hexadecimal', Buffer.from(SECRET).toString('hex')],
    ['in base64', base64(SECRET)],
    ['in base64 behind one more byte', base64(`:${SECRET}`)],
    ['in base64 behind two more bytes', base64(`::${SECRET}`)],
    ['in base64 for addresses', base64(SECRET, 'base64url')],
  ];
  for (const [name, text] of texts) {
    test(name, () => {
      assert.deepEqual(scanner.find(Buffer.from(`before ${text} after`)), ['ours']);
      assert.deepEqual(scanner.find(Buffer.from(text)), ['ours']);
    });
  }
});

test('the scanner finds nothing in bytes without secrets', () => {
  const bytes = Buffer.alloc(200_000, 'all sorts of things that are no secret, 0815-4711, "von" Grüßen ');
  assert.deepEqual(scanner.find(bytes), []);
  assert.deepEqual(scanner.find(Buffer.alloc(0)), []);
});
