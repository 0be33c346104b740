/** The views look as they did, with 5 keys and 500, on a good day and a bad one, at several sizes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { drawPictures } from './view-samples.ts';

test('the views look like pictures.txt: otherwise run node test/tui/draw-pictures.ts', () => {
  assert.equal(drawPictures(), readFileSync(new URL('./pictures.txt', import.meta.url), 'utf8'));
});
