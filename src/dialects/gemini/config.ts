/** What a request says of how to generate. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../dialect.ts';

export function configOf({ generationConfig: config }: Fields): Fields {
  return isObject(config) ? config : {};
}
