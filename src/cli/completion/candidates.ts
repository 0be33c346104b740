/** What shells ask this program for while a command is typed: the names of keys and groups, the ids of models. Silent, whatever happens. */
import { loadConfig } from '../../config/load.ts';
import { isPrintable } from '../../core/printable.ts';
import { keyNames } from '../../state/open.ts';

/** More than anybody wants to choose from. */
const MOST_NAMES = 10_000;
/** A database that does not answer must not keep the shell waiting. */
const PATIENCE_MS = 2_000;

/** Prints the candidates of a kind, one per line: `key [config]`, `group [config]` or `model [config]`. Never rejects. */
export async function printCandidates([kind, path]: readonly string[]): Promise<void> {
  const timer = setTimeout(() => process.exit(), PATIENCE_MS);
  try {
    const names = await candidates(kind, path);
    process.stdout.write(
      names
        .filter(isPrintable)
        .map((name) => `${name}\n`)
        .join(''),
    );
  } catch {
    // Who presses Tab learns of it from the command itself.
  } finally {
    clearTimeout(timer);
  }
}

async function candidates(kind: string | undefined, path: string | undefined): Promise<string[]> {
  const { providers, state } = loadConfig({ path, environment: process.env, directory: process.cwd() });
  switch (kind) {
    case 'key':
      return keyNames(state, MOST_NAMES);
    case 'group':
      return (await keyNames(state, MOST_NAMES)).filter((name) => name.startsWith('@'));
    case 'model':
      return providers.flatMap(({ name, models }) => models.map((model) => `${name}/${model.name}`));
    default:
      return [];
  }
}
