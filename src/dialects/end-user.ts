/** Reads the end user of a request from the client's original fields, in every dialect. */
import { isObject } from '../core/json.ts';
import type { JsonBody } from '../wire/body.ts';
import { type Member, membersOf } from '../wire/members.ts';
import { caseVariant } from './checks.ts';

/** A field and the end user's name in it; undefined if the field is absent. */
export interface UserField {
  readonly field: string;
  readonly value: unknown;
}

/** Forms have no nested objects. OpenAI's clients flatten them like this. */
const METADATA_IN_FORM = 'metadata[user_id]';
const TOP_LEVEL: ReadonlySet<string> = new Set(['safety_identifier', 'user', 'metadata']);

/** Form fields that name an end user. Hosts make no tokens of them. */
export const USER_FIELDS_OF_FORM: readonly string[] = ['safety_identifier', 'user', METADATA_IN_FORM];

/** Returns the fields that can name the end user, in order of precedence. `body`: before a dialect renames its fields. */
export function userFields({ fields, form }: JsonBody): readonly UserField[] {
  const { safety_identifier, user, metadata } = fields;
  const last =
    form === undefined
      ? { field: 'metadata.user_id', value: isObject(metadata) ? metadata.user_id : undefined }
      : { field: METADATA_IN_FORM, value: fields[METADATA_IN_FORM] };
  return [{ field: 'safety_identifier', value: safety_identifier }, { field: 'user', value: user }, last];
}

/**
 * Returns the problem with a field that differs only by letter case from one of these, since a host may read it as that
 * field.
 */
export function userFieldVariant({ fields, form }: JsonBody): string | undefined {
  const names = Object.keys(fields);
  return caseVariant('', form === undefined ? names : names.map(withoutBrackets), TOP_LEVEL);
}

function withoutBrackets(name: string): string {
  return name.split('[', 1)[0] as string;
}

/**
 * Returns the text of a body without the fields that name an end user, for formats without these fields: their hosts refuse
 * unknown ones. Other members of `metadata` stay.
 */
export function textWithoutUser({ text, fields, members }: JsonBody): string {
  if (!members.some(({ key }) => TOP_LEVEL.has(key))) return text;
  const kept = members.flatMap((member) => {
    if (!TOP_LEVEL.has(member.key)) return [sourceOf(text, member)];
    if (member.key !== 'metadata') return [];
    if (!isObject(fields.metadata)) return [sourceOf(text, member)];
    const inner = membersOf(text, member.valueStart);
    const others = inner.filter(({ key }) => key !== 'user_id').map((each) => sourceOf(text, each));
    return others.length === 0 && inner.length > 0 ? [] : [`"metadata":{${others.join(',')}}`];
  });
  return `{${kept.join(',')}}`;
}

function sourceOf(text: string, { keyStart, valueEnd }: Member): string {
  return text.slice(keyStart, valueEnd);
}
