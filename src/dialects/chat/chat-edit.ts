/** Edits a request body for the upstream; everything else keeps its bytes. */
import { applyEdits, membersOf } from '../../wire/members.ts';
import type { ModelRequest, UpstreamFields } from '../dialect.ts';
import { withFields } from '../edit.ts';

/** The request body for the upstream. */
export function editBody(request: ModelRequest, fields: UpstreamFields): string {
  const { body } = request;
  const values = new Map([['model', JSON.stringify(fields.model)]]);
  if (fields.askForUsage && !request.includeUsage) {
    const options = body.members.find(({ key }) => key === 'stream_options');
    const text = options === undefined ? 'null' : body.text.slice(options.valueStart, options.valueEnd);
    values.set('stream_options', withUsage(text));
  }
  const { cap } = fields;
  if (cap === undefined) return withFields(body, values);
  values.set(cap.field, String(cap.tokens));
  // Some hosts refuse a request with two.
  const other = MAXIMA.find((name) => name !== cap.field && typeof body.fields[name] === 'number');
  return withFields(body, values, { without: other });
}

const MAXIMA = ['max_completion_tokens', 'max_tokens'];

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
