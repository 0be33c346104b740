/** Edits a request body for the upstream; everything else keeps its bytes. */
import { applyEdits, type Edit, type Member, membersOf } from './members.ts';
import type { ChatRequest } from './request.ts';

/** The fields to set in the body for the upstream. */
export interface UpstreamFields {
  /** The upstream's own name for the model. */
  readonly model: string;
  /** Request usage at the end of the stream. */
  readonly askForUsage: boolean;
  /** A maximum of output tokens, to be set in this field unless the request declares one there. */
  readonly cap: { readonly field: string; readonly tokens: number } | undefined;
}

/** The request body for the upstream. */
export function editBody(request: ChatRequest, fields: UpstreamFields): string {
  const { text, members } = request.body;
  const find = (key: string) => members.find((member) => member.key === key);
  const model = find('model') as Member;
  const edits: Edit[] = [{ start: model.valueStart, end: model.valueEnd, replacement: JSON.stringify(fields.model) }];
  const added: string[] = [];
  const set = (key: string, value: string) => {
    const member = find(key);
    if (member === undefined) added.push(`${JSON.stringify(key)}:${value},`);
    else edits.push({ start: member.valueStart, end: member.valueEnd, replacement: value });
  };
  if (fields.askForUsage && !request.includeUsage) {
    const options = find('stream_options');
    set('stream_options', withUsage(options === undefined ? 'null' : text.slice(options.valueStart, options.valueEnd)));
  }
  if (fields.cap !== undefined && typeof request.body.fields[fields.cap.field] !== 'number') {
    set(fields.cap.field, String(fields.cap.tokens));
  }
  // There is at least `model`, so a member that is inserted before the first ends with a comma.
  const first = members[0] as Member;
  if (added.length > 0) edits.push({ start: first.keyStart, end: first.keyStart, replacement: added.join('') });
  return applyEdits(text, edits);
}

/** `stream_options` with `include_usage: true`, otherwise unchanged. */
function withUsage(options: string): string {
  if (options === 'null') return '{"include_usage":true}';
  const members = membersOf(options, 0);
  const first = members[0];
  if (first === undefined) return '{"include_usage":true}';
  const edits = members
    .filter((member) => member.key === 'include_usage')
    .map((member) => ({ start: member.valueStart, end: member.valueEnd, replacement: 'true' }));
  if (edits.length > 0) return applyEdits(options, edits);
  return applyEdits(options, [{ start: first.keyStart, end: first.keyStart, replacement: '"include_usage":true,' }]);
}
