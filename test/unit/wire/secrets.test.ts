/** Secrets are detected in every encoding, without false positives. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { holdsSecret, NO_SECRETS } from '../../../src/wire/secrets.ts';

const SECRET = 'up/7a+"c9-Secret of ours~4711';
const of = (...parts: readonly string[]) => ({ ...NO_SECRETS, parts });
const base64 = (text: string) => Buffer.from(text).toString('base64');

const SPELLINGS: readonly (readonly [name: string, text: string])[] = [
  ['verbatim', SECRET],
  ['in upper case', SECRET.toUpperCase()],
  ['without its start and its end', SECRET.slice(5, 17)],
  ['URL-encoded', encodeURIComponent(SECRET)],
  ['in JSON', JSON.stringify({ key: SECRET })],
  ['in hex', Buffer.from(SECRET).toString('hex')],
  ['in base64', base64(SECRET)],
  ['in base64 after one more byte', base64(`:${SECRET}`)],
  ['in base64 within a longer text', base64(`Bearer ${SECRET}, and more`)],
  ['in base64 after two more bytes', base64(`::${SECRET}`)],
  ['in base64url', Buffer.from(SECRET).toString('base64url')],
];

describe('a secret is detected', () => {
  for (const [name, text] of SPELLINGS) {
    test(name, () => {
      assert.equal(holdsSecret(`Refused for ${text}.`, of('something-else', SECRET)), true);
    });
  }

  test('as a whole if it is short', () => {
    assert.equal(holdsSecret('Refused for s3cret.', of('s3cret')), true);
    assert.equal(holdsSecret('Refused for s3cre.', of('s3cret')), false);
  });

  test('by any twelve characters of it, anywhere in any encoding', () => {
    const text = fc.string({ maxLength: 50 });
    fc.assert(
      fc.property(text, text, fc.nat(SECRET.length - 12), fc.boolean(), (before, after, at, isEncoded) => {
        const part = isEncoded ? base64(`${before}${SECRET}${after}`) : `${before}${SECRET.slice(at, at + 12)}${after}`;
        assert.equal(holdsSecret(part, of(SECRET)), true);
      }),
    );
  });
});

test('fewer characters of a secret are not a secret, nor is any other text', () => {
  for (const text of ['', 'Rate limit reached.', SECRET.slice(0, 11), base64('Rate limit reached.')]) {
    assert.equal(holdsSecret(text, of(SECRET)), false);
  }
  assert.equal(holdsSecret('Rate limit reached.', NO_SECRETS), false);
});
