/** Terms of models that a gateway is about to know. Until then its config refuses them, and they are left out. */
import type { Fields } from '../hostile/names.ts';

/** Whether the gateway knows `image_tokens`, `page_tokens`, `remote_files`, tools with `tokens` and `variants`, `refuse_headers`. */
export const NEW_TERMS: boolean = false;

/** These terms, or without them what the config takes in their place. */
export function terms(fields: Fields, before: Fields = {}): Fields {
  return NEW_TERMS ? fields : before;
}
