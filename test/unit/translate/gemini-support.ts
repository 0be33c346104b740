/** Translates requests from and to Google's dialect in tests. */
import assert from 'node:assert/strict';
import type { DialectName } from '../../../src/core/dialects.ts';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { hostRequest, type TranslatedModel } from '../../../src/translate/translate.ts';
import { readJsonBody } from '../../../src/wire/body.ts';

export const CONTEXT = { requestId: 'req_0123', nowS: 1_700_000_000 };

const TERMS: TranslatedModel = { maxOutput: 8_000, defaultOutput: 512, ignoreFields: [], ignoreTools: [] };

/** The smallest requests. */
const PLAIN: Readonly<Partial<Record<DialectName, Fields>>> = {
  chat: { messages: [{ role: 'user', content: 'Hi' }] },
  messages: { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
  responses: { input: 'Hi' },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
};

function hosted(from: DialectName, to: DialectName, fields: Fields, terms: Partial<TranslatedModel> = {}) {
  const read = readJsonBody(Buffer.from(JSON.stringify({ model: 'host/model', ...PLAIN[from], ...fields })));
  assert.ok(read.ok, read.ok ? '' : read.problem);
  const dialect = DIALECTS[from];
  const placed = dialect.place?.(read.body, undefined) ?? read;
  assert.ok(placed.ok, placed.ok ? '' : placed.problem);
  const checked = dialect.check(placed.body, 'host/model');
  assert.ok(checked.ok, checked.ok ? '' : checked.problem);
  return hostRequest(checked.request, [to], { ...TERMS, ...terms });
}

/** What a request becomes. */
export function translated(from: DialectName, to: DialectName, fields: Fields, terms: Partial<TranslatedModel> = {}) {
  const result = hosted(from, to, fields, terms);
  assert.ok(result.ok, result.ok ? '' : result.problem);
  const { request, ignored, response } = result.hosted;
  assert.ok(response !== undefined);
  return { fields: request.body.fields, ignored, response };
}

/** The problem that keeps a request from being sent. */
export function problemOf(from: DialectName, to: DialectName, fields: Fields): string {
  const result = hosted(from, to, fields);
  assert.ok(!result.ok, 'it is translated');
  return result.problem;
}
