/** Adds the model and the stream flag from the request path to a body. */

import { readJson } from '../../core/json.ts';
import type { BodyResult, JsonBody } from '../../wire/body.ts';
import { findDuplicate } from '../../wire/body.ts';
import { membersOf } from '../../wire/members.ts';
import type { Address, Fields } from '../dialect.ts';
import { textWithoutUser } from '../end-user.ts';
import { spelled } from './gemini-names.ts';

/** Fields that the gateway adds to a body and removes for the host. */
const PLACED: readonly string[] = ['model', 'stream'];

/** Removes the prefix of Google's model names: `models/gemini-3-flash`. */
export function withoutPrefix(model: string): string {
  return model.replace(/^models\//, '');
}

/**
 * Returns a body in one spelling, without the end user, and with `model` and `stream`. Without an address the body contains
 * these two already, as `explain` accepts it.
 */
export function placedBody(body: JsonBody, address: Address | undefined): BodyResult {
  // Removes the end user first: camel case would rename its fields.
  const result = spelled(textWithoutUser(body));
  if (!result.ok) return result;
  const spelledBody = result.text === body.text ? body : bodyOf(result.text);
  const duplicate = findDuplicate(spelledBody.members);
  if (duplicate !== undefined) return { ok: false, problem: `Duplicate field in the request body: ${duplicate}.` };
  if (address === undefined) return { ok: true, body: spelledBody };
  const { model, stream } = spelledBody.fields;
  if (stream !== undefined)
    return { ok: false, problem: 'stream: the path says it, as :streamGenerateContent; leave it out' };
  if (model !== undefined && (typeof model !== 'string' || withoutPrefix(model) !== address.model)) {
    return { ok: false, problem: 'model: expected the model in the path; correct it, or leave it out' };
  }
  const said = [`"model":${JSON.stringify(address.model)}`, ...(address.stream ? ['"stream":true'] : [])];
  return { ok: true, body: bodyOf(`{${[...said, ...membersBeside(spelledBody)].join(',')}}`) };
}

/** Returns the source texts of a body's members, without the fields that the gateway added and `others`. */
export function membersBeside({ text, members }: JsonBody, others: readonly string[] = []): string[] {
  return members
    .filter(({ key }) => !PLACED.includes(key) && !others.includes(key))
    .map(({ keyStart, valueEnd }) => text.slice(keyStart, valueEnd));
}

export function bodyOf(text: string): JsonBody {
  return { text, fields: readJson(text) as Fields, members: membersOf(text, 0) };
}
