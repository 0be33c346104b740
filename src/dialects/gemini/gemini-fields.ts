/** Parts of a request that its fields have in a form of their own. */
import { objectOf } from '../../core/json.ts';
import type { Fields } from '../dialect.ts';

/** What a request says of how to generate. */
export function configOf({ generationConfig: config }: Fields): Fields {
  return objectOf(config);
}

/** A list: Google's hosts take one item by itself, too. */
export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}
