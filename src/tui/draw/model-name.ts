/** Names of models in little room. Pure. */
import { widthOf } from '../../operator/text.ts';

/** Without the provider where the whole name does not fit: `claude-haiku-4` differs from `claude-opus-4` at its end. */
export function shortModel(name: string, room: number): string {
  const slash = name.indexOf('/');
  return slash < 0 || widthOf(name) <= room ? name : name.slice(slash + 1);
}
