/**
 * Handles message fields unknown to a dialect. Fields that client libraries add to answers and send back, such as
 * `provider_specific_fields`, are dropped. Fields that change the meaning are refused.
 */
import { printableName } from '../core/printable.ts';
import type { Fields } from '../dialects/dialect.ts';
import { foldCase } from '../wire/names.ts';
import { type Findings, isEmptyValue, UNTRANSLATABLE } from './findings.ts';

/**
 * Fields of any dialect that must not be dropped: content, calls, priced marks, and marks that make a host continue an answer.
 */
const MEANINGFUL: ReadonlySet<string> = new Set([
  ...['content', 'tool_calls', 'function_call', 'tool_call_id', 'refusal', 'thinking_blocks', 'cache_control', 'audio'],
  ...['images', 'videos', 'files', 'documents', 'attachments', 'tools', 'prefix', 'partial', 'clear_at'],
]);

/** `scope`: prefix of the names of dropped fields, such as `messages`. */
export function expectMessage(
  known: ReadonlySet<string>,
  message: Fields,
  { scope, where }: { readonly scope: string; readonly where: string },
  findings: Findings,
): void {
  for (const [name, value] of Object.entries(message)) {
    if (known.has(name) || isEmptyValue(value)) continue;
    if (MEANINGFUL.has(foldCase(name))) findings.refuse(`${where}.${printableName(name)}`, UNTRANSLATABLE);
    else findings.ignoreUnknown(scope, name);
  }
}
