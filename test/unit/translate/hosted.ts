/** The smallest requests of clients, and what requests become for hosts, as the gateway translates them. */
import assert from 'node:assert/strict';
import type { DialectName } from '../../../src/core/dialects.ts';
import { isObject } from '../../../src/core/json.ts';
import type { Checked, Fields, ModelRequest } from '../../../src/dialects/dialect.ts';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { type Hosted, hostRequest, type TranslatedModel, translate } from '../../../src/translate/translate.ts';
import type { TranslatedRequest } from '../../../src/translate/translation.ts';
import { readJsonBody } from '../../../src/wire/body.ts';
import { SseSplitter } from '../../../src/wire/sse.ts';
import { CLIENTS, LEFT_OUT, patternOf } from './left-out.ts';

const TERMS: TranslatedModel = { maxOutput: 8_000, defaultOutput: 512, ignoreFields: [], ignoreTools: [] };

export const MODEL = 'host/model';
export const PNG = 'data:image/png;base64,iVBORw0KGgo=';
export const PDF = 'data:application/pdf;base64,JVBERi0=';
export const CONTEXT = { requestId: 'req_0123', nowS: 1_700_000_000 };

const PLAIN: Readonly<Partial<Record<DialectName, Fields>>> = {
  chat: { messages: [{ role: 'user', content: 'Hi' }] },
  messages: { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
  responses: { input: 'Hi' },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
};

/** The smallest request with these fields, as its dialect finds it. */
export function checked(from: DialectName, fields: Fields): Checked {
  const read = readJsonBody(Buffer.from(JSON.stringify({ model: MODEL, ...PLAIN[from], ...fields })));
  assert.ok(read.ok, read.ok ? '' : read.problem);
  const dialect = DIALECTS[from];
  const placed = dialect.place?.(read.body, undefined) ?? read;
  assert.ok(placed.ok, placed.ok ? '' : placed.problem);
  return dialect.check(placed.body, MODEL);
}

/** The same of a valid one. */
function requestOf(from: DialectName, fields: Fields): ModelRequest {
  const result = checked(from, fields);
  assert.ok(result.ok, result.ok ? '' : result.problem);
  return result.request;
}

/** What a host reads of a request, as a row of a table. `other`: the dialect of the client, or of the host. */
export type Told = readonly [
  what: string,
  other: DialectName,
  request: Fields,
  sent: Fields,
  ignored?: readonly string[],
  terms?: Partial<TranslatedModel>,
];

/** What a host gets of it, if it can be told. */
export function hosted(
  from: DialectName,
  to: DialectName,
  fields: Fields,
  terms: Partial<TranslatedModel> = {},
): Hosted {
  return hostRequest(requestOf(from, fields), [to], { ...TERMS, ...terms });
}

/** The same of fields that need not be valid, or are too many to be read each time. */
export function translateUnchecked(from: DialectName, to: DialectName, fields: Fields): TranslatedRequest {
  const body = { text: '', fields: { model: MODEL, ...PLAIN[from], ...fields }, members: [] };
  return translate({ ...requestOf(from, {}), body }, to, TERMS);
}

/** What a request becomes that can be told. */
export function translated(from: DialectName, to: DialectName, fields: Fields, terms: Partial<TranslatedModel> = {}) {
  const result = hosted(from, to, fields, terms);
  assert.ok(result.ok, result.ok ? '' : result.problem);
  const { request, ignored, response } = result.hosted;
  assert.ok(response !== undefined);
  assertListed(from, to, ignored);
  return { fields: request.body.fields, ignored, response };
}

/** The problem that keeps a request from being sent. */
export function problemOf(from: DialectName, to: DialectName, fields: Fields): string {
  const result = hosted(from, to, fields);
  assert.ok(!result.ok, 'it is translated');
  return result.problem;
}

/** Fails for what no row says. */
function assertListed(from: DialectName, to: DialectName, ignored: readonly string[]): void {
  const client = CLIENTS.find((each) => each === from);
  for (const name of ignored) {
    const row = LEFT_OUT.find(({ by, name: listed }) => client && by[client] && patternOf(listed).test(name));
    assert.ok(row, `${name} is left out, ${from} → ${to}, and not in the table`);
  }
}

/** The events of a stream, each with a name that is its type. */
export function eventsIn(stream: string): readonly Fields[] {
  const splitter = new SseSplitter();
  const events = splitter.push(Buffer.from(stream));
  assert.equal(splitter.end(), undefined, 'the last event is not complete');
  return events.map(({ name, data }) => {
    const value: unknown = JSON.parse(data ?? '');
    assert.ok(isObject(value));
    assert.equal(name, value.type);
    return value;
  });
}
