/** Sets fields at the top level of a body; everything else keeps its bytes. */
import type { JsonBody } from '../wire/body.ts';
import { applyEdits, type Edit, type Member } from '../wire/members.ts';

/** The text of a body, which has a field, with these fields set. `values`: as JSON. */
export function withFields({ text, members }: JsonBody, values: ReadonlyMap<string, string>): string {
  const edits: Edit[] = [];
  const added: string[] = [];
  for (const [key, value] of values) {
    const member = members.find((each) => each.key === key);
    if (member === undefined) added.push(`${JSON.stringify(key)}:${value},`);
    else edits.push({ start: member.valueStart, end: member.valueEnd, replacement: value });
  }
  // What is inserted before the first field ends with a comma.
  const first = members[0] as Member;
  if (added.length > 0) edits.push({ start: first.keyStart, end: first.keyStart, replacement: added.join('') });
  return applyEdits(text, edits);
}
