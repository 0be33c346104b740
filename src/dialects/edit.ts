/** Sets and removes top-level fields of a body without changing the bytes of other fields. */
import type { JsonBody } from '../wire/body.ts';
import { applyEdits, type Edit, type Member } from '../wire/members.ts';

/**
 * Returns the text of a non-empty body with the fields in `values` (as JSON) set and the field `without` removed. `within`:
 * edits inside other fields.
 */
export function withFields(
  { text, members }: JsonBody,
  values: ReadonlyMap<string, string>,
  { without, within = [] }: { readonly without?: string | undefined; readonly within?: readonly Edit[] } = {},
): string {
  const edits: Edit[] = [...within];
  const added: string[] = [];
  for (const [key, value] of values) {
    const member = members.find((each) => each.key === key);
    if (member === undefined) added.push(`${JSON.stringify(key)}:${value},`);
    else edits.push({ start: member.valueStart, end: member.valueEnd, replacement: value });
  }
  // Fields inserted before the first one end with a comma.
  const first = members[0] as Member;
  if (added.length > 0) edits.push({ start: first.keyStart, end: first.keyStart, replacement: added.join('') });
  const left = members.findIndex(({ key }) => key === without);
  if (left >= 0) edits.push({ ...spanOf(members, left), replacement: '' });
  return applyEdits(text, edits);
}

/** Returns the span of a field and one comma: the following one, or the preceding one for the last field. */
function spanOf(members: readonly Member[], index: number): Pick<Edit, 'start' | 'end'> {
  const { keyStart, valueEnd } = members[index] as Member;
  const next = members[index + 1];
  if (next !== undefined) return { start: keyStart, end: next.keyStart };
  return { start: members[index - 1]?.valueEnd ?? keyStart, end: valueEnd };
}
