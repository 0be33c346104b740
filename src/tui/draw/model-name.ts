/** Shortened model names. Pure. */
import { widthOf } from '../../operator/text.ts';

/** Drops the provider if the whole name does not fit: `claude-haiku-4` differs from `claude-opus-4` at its end. */
export function shortModel(name: string, room: number): string {
  const slash = name.indexOf('/');
  return slash < 0 || widthOf(name) <= room ? name : name.slice(slash + 1);
}
