/** Accessors for request fields with a structure specific to Google. */
import { objectOf } from '../../core/json.ts';
import type { Fields } from '../dialect.ts';

export function configOf({ generationConfig: config }: Fields): Fields {
  return objectOf(config);
}

/** Returns a list. Google's hosts also accept a single item instead. */
export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}
