/** What the attachments of an input come to at a model. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokensOfEach } from '../../../src/dialects/attachments.ts';
import type { Attachment } from '../../../src/dialects/dialect.ts';
import { testModel } from '../../support/models.ts';

const PAGES = 7;
const PAGE_TOKENS = 2_000;

test('the pages of the first three PDFs are counted, and none for a model that has no price for them', () => {
  let counts = 0;
  const countPages = () => {
    counts++;
    return PAGES;
  };
  const pdf: Attachment = { kind: 'pdf', countPages, holder: {}, field: 'data' };
  const image: Attachment = { kind: 'image', size: undefined };
  const attachments = [pdf, pdf, pdf, pdf, image];
  const tokens = (pageTokens: number | undefined) =>
    [...tokensOfEach(attachments, testModel('p/m', { imageTokens: 5, pageTokens }))].map((each) => each.tokens);
  assert.deepEqual(tokens(undefined), [undefined, undefined, undefined, undefined, 5]);
  assert.equal(counts, 0);
  const counted = PAGES * PAGE_TOKENS;
  assert.deepEqual(tokens(PAGE_TOKENS), [counted, counted, counted, undefined, 5]);
  assert.equal(counts, 3);
});
