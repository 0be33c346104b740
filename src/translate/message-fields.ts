/**
 * The fields of messages that a dialect does not have. Client libraries give back what they have added to answers, such as
 * `provider_specific_fields`: that is left out. What would be lost with its meaning is refused.
 */
import { printableName } from '../core/printable.ts';
import type { Fields } from '../dialects/dialect.ts';
import { foldCase } from '../wire/names.ts';
import { type Findings, saysNothing, UNSAYABLE } from './findings.ts';

/** Of any dialect: content, calls, marks that cost, and what has a host continue an answer. */
const MEANT: ReadonlySet<string> = new Set([
  ...['content', 'tool_calls', 'function_call', 'tool_call_id', 'refusal', 'thinking_blocks', 'cache_control', 'audio'],
  ...['images', 'videos', 'files', 'documents', 'attachments', 'tools', 'prefix', 'partial', 'clear_at'],
]);

/** `scope`: for the names of what is left out, such as `messages`. */
export function expectMessage(
  known: ReadonlySet<string>,
  message: Fields,
  { scope, where }: { readonly scope: string; readonly where: string },
  findings: Findings,
): void {
  for (const [name, value] of Object.entries(message)) {
    if (known.has(name) || saysNothing(value)) continue;
    if (MEANT.has(foldCase(name))) findings.refuse(`${where}.${printableName(name)}`, UNSAYABLE);
    else findings.ignoreUnknown(scope, name);
  }
}
