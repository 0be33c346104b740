/** Reads the `.env` next to the config: values for references to variables that the environment lacks. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { UserError } from '../core/errors.ts';

const NAME = '.env';
/** Larger than any list of keys; a larger file is something else. */
const MAX_BYTES = 64 * 1024;
/** The permissions of users other than the owner and the group. */
const OTHERS = 0o007;
const ADVICE = 'the .env beside the config holds lines of NAME=value: correct it, or move it away';

/** The variables that references resolve to, and warnings about their source. */
export interface Variables {
  readonly environment: NodeJS.ProcessEnv;
  readonly warnings: readonly string[];
}

/**
 * The environment, completed by the `.env` in `directory`. It only resolves references: the environment of the process stays
 * as it was, so the file cannot select a config or options of Node. Throws a UserError if the file exists and cannot be
 * used.
 */
export function withEnvFile(environment: NodeJS.ProcessEnv, directory: string): Variables {
  const path = join(directory, NAME);
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return { environment, warnings: [] };
    if (!stats.isFile())
      throw new UserError(`${path} is ${stats.isDirectory() ? 'a directory' : 'no regular file'}; ${ADVICE}`);
    if (stats.size > MAX_BYTES) {
      throw new UserError(`${path} has ${stats.size} bytes, and ${MAX_BYTES} are the most; ${ADVICE}`);
    }
    // This decoder drops the byte order mark of some editors, which would become part of the first name.
    const added = parseEnv(new TextDecoder().decode(readFileSync(path)));
    const isOpen = (stats.mode & OTHERS) !== 0;
    return {
      environment: Object.assign(Object.create(null), added, environment),
      warnings: isOpen ? [`${path} is open to all users of this machine; close it with: chmod 600 ${path}`] : [],
    };
  } catch (error) {
    if (error instanceof UserError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new UserError(`cannot read ${path} (${code}); ${ADVICE}`);
  }
}
