/** Names that clients sent, as messages and log lines show them. */
import { redactKeys } from './api-key.ts';

const MAX_NAME_CHARACTERS = 200;

/** Makes a name safe to show: no control characters, no keys, at most 200 characters. */
export function printableName(name: string): string {
  const clean = redactKeys(name.replace(/\p{C}+/gu, ' '));
  return clean.length > MAX_NAME_CHARACTERS ? `${clean.slice(0, MAX_NAME_CHARACTERS)}…` : clean;
}
