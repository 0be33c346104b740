/** The changes that a request body undergoes on its way upstream. All else keeps its bytes. */
import { applyEdits, type Edit, type Member, membersOf } from './members.ts';
import type { ChatRequest } from './request.ts';

/** What the upstream is to read instead of, or beside, what the client wrote. */
export interface UpstreamFields {
  /** The upstream's own name for the model. */
  readonly model: string;
  /** Ask for usage at the end of the stream. */
  readonly askForUsage: boolean;
  /** A maximum of output tokens for a request that declares none, and the name of its field. */
  readonly cap: { readonly field: string; readonly tokens: number } | undefined;
}

/** The body for the upstream. */
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
  if (fields.cap !== undefined) set(fields.cap.field, String(fields.cap.tokens));
  // The body holds `model` at least, so what goes in front of the first member ends with a comma.
  const first = members[0] as Member;
  if (added.length > 0) edits.push({ start: first.keyStart, end: first.keyStart, replacement: added.join('') });
  return applyEdits(text, edits);
}

/** `stream_options` with `include_usage: true`, and all else in it as it was. */
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
