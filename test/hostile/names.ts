/**
 * How hosts read the names of fields: to the letter, or without case as programs in Go do, where
 * the last one wins.
 */
import { readJson } from '../../src/core/json.ts';

export type Reading = 'exact' | 'go';
export type Fields = Record<string, unknown>;

/** The names that a host acts on. */
const KNOWN: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'tools', 'functions', 'response_format', 'max_tokens', 'max_completion_tokens', 'n'],
  ...['stream', 'stream_options', 'service_tier', 'user'],
]);
const KNOWN_OPTIONS: ReadonlySet<string> = new Set(['include_usage']);

/** Unicode simple folding, as far as it leads to ASCII: U+017F is an s, U+212A a k. */
export function folded(name: string): string {
  return name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase();
}

/** The fields of a request as a host reads them. `known`: the names that it acts on. */
export function readRequest(text: string, reading: Reading, known: ReadonlySet<string> = KNOWN): Fields {
  const fields = readNames(readJson(text) as Fields, known, reading);
  const options = fields.stream_options;
  if (typeof options !== 'object' || options === null) return fields;
  return { ...fields, stream_options: readNames(options as Fields, KNOWN_OPTIONS, reading) };
}

function readNames(object: Fields, known: ReadonlySet<string>, reading: Reading): Fields {
  if (reading === 'exact') return object;
  const fields: Fields = {};
  for (const [name, value] of Object.entries(object)) {
    const name_ = folded(name);
    fields[known.has(name_) ? name_ : name] = value;
  }
  return fields;
}
