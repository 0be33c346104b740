/** Checks the contents of the state: version, integrity and sums. */
import { existsSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { fileSize, resolveLinks } from '../core/files.ts';
import type { PostgresAddress } from '../core/postgres-address.ts';
import { showAddress } from '../core/postgres-address.ts';
import { program } from '../core/program.ts';
import { bytes, countOf } from '../operator/format.ts';
import { assertWhole, examineDatabase } from '../state/open.ts';
import { type Finding, failure, ok, refused, warning } from './finding.ts';

/** Maximum file size for an audit here. A larger one takes too long for an interactive command. */
const MAX_AUDITED_BYTES = 1024 * 1024 * 1024;
const AUDIT_MS = 20_000;
/** A log of this size makes the ledger pause when it is truncated. */
const LARGE_LOG_BYTES = 1024 * 1024 * 1024;

const NAME = 'state';
function toRestore(): string {
  return `restore it with \`${program()} restore <backup>\``;
}

export async function checkState({ state, journalRetentionMs }: Config): Promise<readonly Finding[]> {
  switch (state.kind) {
    case 'file':
      return existsSync(state.path) ? [...(await checkContents(resolveLinks(state.path)))] : [];
    case 'postgres':
      return [await checkDatabase(state.address, journalRetentionMs)];
  }
}

async function checkContents(path: string): Promise<Finding[]> {
  try {
    await assertWhole(path);
  } catch (error) {
    return [refused(NAME, error)];
  }
  const { newestVersion, readVersion } = await import('../audit/version.ts');
  const found = readVersion(path);
  switch (found.kind) {
    case 'empty':
      return [ok(NAME, 'empty; the first start fills it')];
    case 'foreign':
      return [failure(NAME, `${path} belongs to another program`, 'set `state:` in the config to another file')];
    case 'unreadable':
      return [failure(NAME, `it cannot be read (${found.message})`, `if it is damaged, ${toRestore()}`)];
    case 'version': {
      const { version } = found;
      if (version > newestVersion) {
        return [
          failure(
            NAME,
            `written by a newer inf-gw (schema version ${version}; this one knows ${newestVersion})`,
            'update inf-gw',
          ),
        ];
      }
      // Empty files also have version 0, but are handled above.
      if (version <= 0) return [failure(NAME, `it has tables, and the invalid schema version ${version}`, toRestore())];
      if (version < newestVersion) {
        return [ok(NAME, `schema version ${version}; the next start brings it to ${newestVersion}`), ...checkLog(path)];
      }
      return [await checkFigures(path), ...checkLog(path)];
    }
  }
}

async function checkFigures(path: string): Promise<Finding> {
  const size = fileSize(path);
  const whole = `\`${program()} audit\` checks all of it`;
  if (size > MAX_AUDITED_BYTES) return ok(NAME, `${bytes(size)}, too large to be checked here; ${whole}`);
  const { auditInThread } = await import('../audit/in-thread.ts');
  const signal = AbortSignal.timeout(AUDIT_MS);
  try {
    const checks = await auditInThread(path, { onProgress: () => {}, signal });
    const damaged = checks.find((check) => check.name === 'file' && check.differences.length > 0);
    if (damaged !== undefined) return failure(NAME, `it is damaged: ${damaged.differences[0]}`, toRestore());
    const wrong = checks.filter(({ differences }) => differences.length > 0);
    if (wrong.length > 0) {
      const names = wrong.map(({ name }) => name).join(', ');
      return warning(NAME, `its figures do not agree: ${names}`, `\`${program()} audit\` shows the differences`);
    }
    const requests = checks.find((check) => check.name === 'journal rows')?.rows ?? 0;
    return ok(NAME, `${bytes(size)}, ${countOf(requests, 'request')}; everything agrees`);
  } catch (error) {
    if (signal.aborted) return ok(NAME, `${bytes(size)}, not checked within ${AUDIT_MS / 1000} s; ${whole}`);
    return { ...refused(NAME, error), fix: toRestore() };
  }
}

function checkLog(path: string): Finding[] {
  const size = fileSize(`${path}-wal`);
  if (size < LARGE_LOG_BYTES) return [];
  const fix = 'end the program that has been reading from it for long, such as a backup of another kind';
  return [warning(NAME, `its log has grown to ${bytes(size)}`, fix)];
}

async function checkDatabase(address: PostgresAddress, retentionMs: number | undefined): Promise<Finding> {
  const name = 'database';
  const place = showAddress(address);
  try {
    const { server, version, newest, isAllowed, keptMs, mayLose } = await examineDatabase(address);
    if (version > newest) {
      return failure(
        name,
        `its tables are from a newer inf-gw (version ${version}; this one knows ${newest})`,
        'update inf-gw',
      );
    }
    if (!isAllowed && version === newest) {
      return failure(
        name,
        `${address.user} lacks the privileges of a gateway in ${place}`,
        `let the owner of the tables run \`${program()} state grant ${address.user}\``,
      );
    }
    if (!isAllowed) {
      return failure(
        name,
        `${address.user} may not make or update the tables in ${place}`,
        'run the first command as the owner of the database',
      );
    }
    if (retentionMs !== undefined && (keptMs === null || keptMs > retentionMs)) {
      return warning(
        name,
        `a gateway of ${address.user} drops fewer requests than \`journal_retention\` says: the owner of the tables keeps them for longer`,
        `let the owner run \`${program()} state grant ${address.user}\` with that \`journal_retention\``,
      );
    }
    switch (mayLose) {
      case 'standby':
        return warning(
          name,
          `${place} waits for no standby: one that takes over may lack the last requests`,
          'set `synchronous_commit = on` there, and name the standby in `synchronous_standby_names`',
        );
      case 'disk':
        return warning(
          name,
          `${place} waits for no disk: a crash loses requests that were answered`,
          'set `synchronous_commit = on` there',
        );
    }
    const tables = version === newest ? `tables of version ${version}` : 'the next start makes or updates the tables';
    return ok(name, `PostgreSQL ${server} at ${place}; ${tables}`);
  } catch (error) {
    return refused(name, error);
  }
}
