/** API keys as strings: their form, their checksum, and what is shown and stored of them. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { hashKey, isWellFormedKey, mintKey, previewKey, redactKeys } from '../../../src/core/api-key.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX_LENGTH = 'sk-inf-'.length;
const CHECKSUM_LENGTH = 6;

/** Random bytes that are the same in every run. */
function countingBytes(): (count: number) => Uint8Array {
  let next = 0;
  return (count) => Uint8Array.from({ length: count }, () => next++ % 256);
}

describe('a new key', () => {
  test('is sk-inf- and forty characters of base 62', () => {
    assert.match(mintKey(), /^sk-inf-[0-9A-Za-z]{40}$/);
  });

  test('is well-formed and unique', () => {
    const keys = Array.from({ length: 500 }, () => mintKey());
    assert.ok(keys.every(isWellFormedKey));
    assert.equal(new Set(keys).size, keys.length);
  });

  test('has every character of its alphabet with the same probability', () => {
    const ways = new Map<string, number>();
    for (let byte = 0; byte < 256; byte++) {
      // A rejected byte is drawn again, and is then zero.
      let asked = 0;
      const key = mintKey((count) => new Uint8Array(count).fill(asked++ === 0 ? byte : 0));
      const character = key.charAt(PREFIX_LENGTH);
      if (asked === 1) ways.set(character, (ways.get(character) ?? 0) + 1);
    }
    assert.deepEqual([...ways.keys()].toSorted(), [...BASE62].toSorted());
    assert.deepEqual(new Set(ways.values()), new Set([4]));
  });

  test('is made with at least 190 random bits', () => {
    const drawn: number[] = [];
    const bytes = countingBytes();
    const key = mintKey((count) => {
      drawn.push(count);
      return bytes(count);
    });
    const randomCharacters = key.length - PREFIX_LENGTH - CHECKSUM_LENGTH;
    assert.ok(randomCharacters * Math.log2(62) >= 190);
    assert.ok(drawn.reduce((sum, count) => sum + count, 0) >= randomCharacters);
  });
});

describe('a mistyped key is not well-formed:', () => {
  const keys = fc.integer({ min: 0, max: 200 }).map((skip) => {
    const random = countingBytes();
    random(skip);
    return mintKey(random);
  });
  const positions = fc.integer({ min: PREFIX_LENGTH, max: PREFIX_LENGTH + 39 });

  test('one wrong character', () => {
    const characters = fc.constantFrom(...BASE62);
    fc.assert(
      fc.property(keys, positions, characters, (key, position, character) => {
        if (key[position] === character) return;
        assert.equal(isWellFormedKey(key.slice(0, position) + character + key.slice(position + 1)), false);
      }),
      { numRuns: 2_000 },
    );
  });

  test('two adjacent characters swapped', () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: PREFIX_LENGTH, max: PREFIX_LENGTH + 38 }), (key, position) => {
        const [a, b] = [key.charAt(position), key.charAt(position + 1)];
        if (a !== b) assert.equal(isWellFormedKey(key.slice(0, position) + b + a + key.slice(position + 2)), false);
      }),
      { numRuns: 2_000 },
    );
  });

  const key = mintKey();
  const mistyped: Record<string, string> = {
    'a character too few': key.slice(0, -1),
    'a character too many': `${key}0`,
    'a space before it': ` ${key}`,
    'a space after it': `${key} `,
    'a line end after it': `${key}\n`,
    'another prefix': key.replace('sk-inf-', 'sk-'),
    'a prefix in capitals': key.replace('sk-inf-', 'SK-INF-'),
    'nothing but the prefix': 'sk-inf-',
    nothing: '',
  };
  for (const [what, text] of Object.entries(mistyped)) {
    test(what, () => assert.equal(isWellFormedKey(text), false));
  }
});

test('a key is stored as its SHA-256 and shown by its last four characters', () => {
  const key = mintKey();
  assert.equal(hashKey(key), createHash('sha256').update(key).digest('hex'));
  assert.equal(previewKey(key), `sk-inf-…${key.slice(-4)}`);
});

test('keys in a text are redacted, and nothing else is', () => {
  const [one, other] = [mintKey(), mintKey()];
  assert.equal(redactKeys(`/v1/models/${one}x?a=${other}.`), '/v1/models/sk-inf-…?a=sk-inf-….');
  const innocent = 'sk-inf- is how a key begins: sk-inf-<key>';
  assert.equal(redactKeys(innocent), innocent);
});
