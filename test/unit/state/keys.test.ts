/** What the name of a key may look like. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkKeyName } from '../../../src/state/keys.ts';

const NAMES: readonly (readonly [name: string, problem: RegExp | undefined])[] = [
  ['app', undefined],
  ['My app: v2 (staging)', undefined],
  ['café 東京 🚀', undefined],
  ['x', undefined],
  ['x'.repeat(64), undefined],
  ['🚀'.repeat(64), undefined],
  ['key_short', undefined],
  ['', /1 to 64 characters/],
  ['x'.repeat(65), /1 to 64 characters/],
  ['🚀'.repeat(65), /1 to 64 characters/],
  [' app', /space/],
  ['app ', /space/],
  ['\u00a0app', /space/],
  ['a\nb', /control/],
  ['a\u001b[31mb', /control/],
  ['a\u0000b', /control/],
  ['a\u200bb', /control/],
  ['a\u202eb', /control/],
  ['a\u2028b', /control/],
  [`key_${'0'.repeat(26)}`, /look like the id of a key/],
];

describe('a name for a key', () => {
  for (const [name, problem] of NAMES) {
    test(`${JSON.stringify(name)} is ${problem === undefined ? 'valid' : `invalid: ${problem.source}`}`, () => {
      if (problem === undefined) assert.equal(checkKeyName(name), undefined);
      else assert.match(checkKeyName(name) ?? '', problem);
    });
  }
});
