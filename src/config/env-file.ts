/** The `.env` beside the config: values for references that name variables which the environment does not have. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { UserError } from '../core/errors.ts';

const NAME = '.env';
/** More than any list of keys has; what is larger is something else. */
const MAX_BYTES = 64 * 1024;
/** The permissions of users who are neither the owner nor in the group of a file. */
const OTHERS = 0o007;
const ADVICE = 'the .env beside the config holds lines of NAME=value: correct it, or move it away';

/** What references to variables are resolved against, and what is odd about where it comes from. */
export interface Variables {
  readonly environment: NodeJS.ProcessEnv;
  readonly warnings: readonly string[];
}

/**
 * The environment, and what the `.env` in `directory` adds to it. It only ever reaches references: the
 * process keeps the environment that it was started with, so the file cannot choose a config or options
 * of Node. Throws a UserError if there is such a file and it cannot be used.
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
    // This decoder drops the byte order mark of some editors, which would be part of the first name.
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
