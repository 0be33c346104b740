/** Sets fields at the top level of a body, and takes one out; everything else keeps its bytes. */
import type { JsonBody } from '../wire/body.ts';
import { applyEdits, type Edit, type Member } from '../wire/members.ts';

/**
 * The text of a body, which has a field, with these fields set, and without one other. `values`: as JSON. `within`: edits
 * of other fields.
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
  // What is inserted before the first field ends with a comma.
  const first = members[0] as Member;
  if (added.length > 0) edits.push({ start: first.keyStart, end: first.keyStart, replacement: added.join('') });
  const left = members.findIndex(({ key }) => key === without);
  if (left >= 0) edits.push({ ...spanOf(members, left), replacement: '' });
  return applyEdits(text, edits);
}

/** A field with its comma: the one behind it, or before it if it is the last. */
function spanOf(members: readonly Member[], index: number): Pick<Edit, 'start' | 'end'> {
  const { keyStart, valueEnd } = members[index] as Member;
  const next = members[index + 1];
  if (next !== undefined) return { start: keyStart, end: next.keyStart };
  return { start: members[index - 1]?.valueEnd ?? keyStart, end: valueEnd };
}
