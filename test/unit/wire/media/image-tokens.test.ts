/** The tokens of an image are those that the vendors publish, and by default the most of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ImageSize } from '../../../../src/wire/media/image-size.ts';
import { dearestImageTokens, tileTokens } from '../../../../src/wire/media/image-tokens.ts';

const GPT_4O = { base: 85, tile: 170 };
const GPT_4O_MINI = { base: 2_833, tile: 5_667 };

const size = (width: number, height: number): ImageSize => ({ width, height });
const sizes = fc.record({ width: fc.integer({ min: 1, max: 20_000 }), height: fc.integer({ min: 1, max: 20_000 }) });

test('tiles are counted as in the examples that OpenAI gives, and small images are not enlarged', () => {
  const tokens = [
    size(1024, 1024),
    size(2048, 4096),
    size(1, 1),
    size(512, 512),
    size(513, 512),
    size(128, 64),
    size(4095, 2047),
  ];
  assert.deepEqual(
    tokens.map((image) => tileTokens(image, GPT_4O)),
    [765, 1105, 255, 255, 425, 255, 1445],
  );
  assert.equal(tileTokens(size(1920, 1080), GPT_4O_MINI), 36_835);
});

test('an image has at most eight tiles, and as many if its size is not known', () => {
  assert.equal(tileTokens(size(2048, 768), GPT_4O), 85 + 8 * 170);
  assert.equal(tileTokens(undefined, GPT_4O), 85 + 8 * 170);
  fc.assert(fc.property(sizes, (image) => assert.ok(tileTokens(image, GPT_4O) <= tileTokens(undefined, GPT_4O))));
});

test('an image counts the same upright and lying', () => {
  fc.assert(
    fc.property(sizes, ({ width, height }) => {
      assert.equal(tileTokens(size(width, height), GPT_4O), tileTokens(size(height, width), GPT_4O));
      assert.equal(dearestImageTokens(size(width, height)), dearestImageTokens(size(height, width)));
    }),
  );
});

test('of the sizes that an image may have, the dearest counts', () => {
  // Of the largest width and height together there are fewer tiles.
  const image = { ...size(2048, 2048), candidates: [size(2048, 768), size(100, 2048)] };
  assert.equal(tileTokens(image, GPT_4O), 85 + 8 * 170);
  assert.equal(tileTokens(size(2048, 2048), GPT_4O), 85 + 4 * 170);
  assert.equal(dearestImageTokens(image), dearestImageTokens(size(2048, 768)));
});

/** Which rule is the dearest for a size, and what it makes of it. */
const DEAREST: readonly (readonly [string, ImageSize, number])[] = [
  ['the tiles of gpt-4o-mini, for a small image', size(1, 1), 8_500],
  ['the tiles of gpt-4o-mini, for an ordinary one', size(1920, 1080), 36_835],
  ['patches, for a large one', size(8_000, 8_000), Math.ceil(250 * 250 * 2.46)],
  ["Gemini's crops, for a thin one", size(3_072, 30), 154 * 2 * 258],
];

for (const [rule, image, tokens] of DEAREST) {
  test(`the dearest rule is ${rule}`, () => assert.equal(dearestImageTokens(image), tokens));
}

test('no rule that is published makes more of an image', () => {
  fc.assert(
    fc.property(sizes, (image) => {
      const patches = (side: number) => Math.ceil(image.width / side) * Math.ceil(image.height / side);
      const tokens = dearestImageTokens(image);
      const rules = {
        original: patches(32) * 2.46,
        nano: Math.min(1_536, patches(32)) * 2.46,
        claude: Math.min(4_784, patches(28)),
        olderClaude: Math.min(1_600, (image.width * image.height) / 750),
        ultraHigh: 2_240,
        geminiTiles: patches(768) * 258,
        mini: tileTokens(image, GPT_4O_MINI),
      };
      for (const [rule, most] of Object.entries(rules)) assert.ok(tokens >= most, rule);
    }),
  );
});

test('there is no most for an image of unknown size', () => {
  assert.equal(dearestImageTokens(undefined), Number.POSITIVE_INFINITY);
});
