/** Secrets are found in a text in whatever spelling, and what is none is not taken for one. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { holdsSecret } from '../../../src/wire/secrets.ts';

const SECRET = 'up/7a+"c9-Secret of ours~4711';
const base64 = (text: string) => Buffer.from(text).toString('base64');

const SPELLINGS: readonly (readonly [name: string, text: string])[] = [
  ['as it is', SECRET],
  ['in capitals', SECRET.toUpperCase()],
  ['without its beginning and its end', SECRET.slice(5, 17)],
  ['in an address', encodeURIComponent(SECRET)],
  ['in JSON', JSON.stringify({ key: SECRET })],
  ['in hexadecimal', Buffer.from(SECRET).toString('hex')],
  ['in base64', base64(SECRET)],
  ['in base64 behind one more byte', base64(`:${SECRET}`)],
  ['in base64 between others', base64(`Bearer ${SECRET}, and more`)],
  ['in base64 behind two more bytes', base64(`::${SECRET}`)],
  ['in base64 for addresses', Buffer.from(SECRET).toString('base64url')],
];

describe('a secret is found', () => {
  for (const [name, text] of SPELLINGS) {
    test(name, () => {
      assert.equal(holdsSecret(`Refused for ${text}.`, ['something-else', SECRET]), true);
    });
  }

  test('as a whole where it is short', () => {
    assert.equal(holdsSecret('Refused for s3cret.', ['s3cret']), true);
    assert.equal(holdsSecret('Refused for s3cre.', ['s3cret']), false);
  });

  test('by any twelve characters of it, wherever they stand in whatever encoding', () => {
    const text = fc.string({ maxLength: 50 });
    fc.assert(
      fc.property(text, text, fc.nat(SECRET.length - 12), fc.boolean(), (before, after, at, isEncoded) => {
        const part = isEncoded ? base64(`${before}${SECRET}${after}`) : `${before}${SECRET.slice(at, at + 12)}${after}`;
        assert.equal(holdsSecret(part, [SECRET]), true);
      }),
    );
  });
});

test('fewer characters of a secret are no secret, nor is what has none', () => {
  for (const text of ['', 'Rate limit reached.', SECRET.slice(0, 11), base64('Rate limit reached.')]) {
    assert.equal(holdsSecret(text, [SECRET]), false);
  }
  assert.equal(holdsSecret('Rate limit reached.', []), false);
});
