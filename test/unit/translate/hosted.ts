/** The smallest requests of clients, and what a request becomes for a host. */
import assert from 'node:assert/strict';
import type { DialectName } from '../../../src/core/dialects.ts';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { type Hosted, hostRequest, type TranslatedModel } from '../../../src/translate/translate.ts';
import { readJsonBody } from '../../../src/wire/body.ts';

const TERMS: TranslatedModel = { maxOutput: 8_000, defaultOutput: 512, ignoreFields: [], ignoreTools: [] };

const PLAIN: Readonly<Partial<Record<DialectName, Fields>>> = {
  chat: { messages: [{ role: 'user', content: 'Hi' }] },
  messages: { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
  responses: { input: 'Hi' },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
};

/** The smallest request with these fields. */
export function hosted(
  from: DialectName,
  to: DialectName,
  fields: Fields,
  terms: Partial<TranslatedModel> = {},
): Hosted {
  const read = readJsonBody(Buffer.from(JSON.stringify({ model: 'host/model', ...PLAIN[from], ...fields })));
  assert.ok(read.ok, read.ok ? '' : read.problem);
  const dialect = DIALECTS[from];
  const placed = dialect.place?.(read.body, undefined) ?? read;
  assert.ok(placed.ok, placed.ok ? '' : placed.problem);
  const checked = dialect.check(placed.body, 'host/model');
  assert.ok(checked.ok, checked.ok ? '' : checked.problem);
  return hostRequest(checked.request, [to], { ...TERMS, ...terms });
}
