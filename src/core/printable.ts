/** Names from outside, as messages and log lines show them. */
import { withoutKeys } from './api-key.ts';

const MAX_NAME_CHARACTERS = 200;

/** A name from outside in a form that messages and log lines can carry: no control characters, no keys, not too long. */
export function printableName(name: string): string {
  const clean = withoutKeys(name.replace(/\p{C}+/gu, ' '));
  return clean.length > MAX_NAME_CHARACTERS ? `${clean.slice(0, MAX_NAME_CHARACTERS)}…` : clean;
}
