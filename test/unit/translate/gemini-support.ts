/** Translates requests from and to Google's dialect in tests. */
import assert from 'node:assert/strict';
import type { DialectName } from '../../../src/core/dialects.ts';
import type { Fields } from '../../../src/dialects/dialect.ts';
import type { TranslatedModel } from '../../../src/translate/translate.ts';
import { hosted } from './hosted.ts';
import { assertListed } from './losses.ts';

export const CONTEXT = { requestId: 'req_0123', nowS: 1_700_000_000 };

/** What a request becomes. */
export function translated(from: DialectName, to: DialectName, fields: Fields, terms: Partial<TranslatedModel> = {}) {
  const result = hosted(from, to, fields, terms);
  assert.ok(result.ok, result.ok ? '' : result.problem);
  const { request, ignored, response } = result.hosted;
  assert.ok(response !== undefined);
  assertListed(`${from} → ${to}`, ignored);
  return { fields: request.body.fields, ignored, response };
}

/** The problem that keeps a request from being sent. */
export function problemOf(from: DialectName, to: DialectName, fields: Fields): string {
  const result = hosted(from, to, fields);
  assert.ok(!result.ok, 'it is translated');
  return result.problem;
}
