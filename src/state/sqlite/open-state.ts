/** Opens the state file for the CLI and the TUI. */
import { UserError } from '../../core/errors.ts';
import { KEPT_MS, type KeptResponse, MAX_DROPPED_IDS, MAX_KEPT_IDS } from '../../core/kept-responses.ts';
import type { Durability } from '../../core/settings.ts';
import { openBook, openPart } from '../book.ts';
import { idsOf, KeptBook } from '../kept-book.ts';
import { type Operation, rows, transaction } from '../operation.ts';
import type { OpenState } from '../state.ts';
import { FileAlerts } from './alerts.ts';
import { carryOut, DIALECT } from './book.ts';
import { dataVersion, openDatabase, openEmptyDatabase, type Sqlite } from './database.ts';
import { refuseWithoutIndex, tryLockState } from './lock.ts';
import { openToRead } from './open-to-read.ts';
import { isOwnFile, makePrivate } from './private-files.ts';
import { StandingReader } from './standings.ts';
import { explained } from './storage-errors.ts';

/** Opens the state file, and creates it if it is missing. Throws a UserError. */
export function openState(path: string, durability: Durability): OpenState {
  refuseWithoutIndex(path);
  const { database, created } = openDatabase(path, durability, () => refuseBesideGateway(path));
  return openFile(database, created);
}

/**
 * Refuses a migration under a running gateway of an earlier version, which would then fail every request. Throws a
 * UserError.
 */
function refuseBesideGateway(path: string): void {
  const lock = tryLockState(path);
  if (lock === undefined) {
    throw new UserError(
      `a gateway of an earlier inf-gw runs on ${path}: restart it with this version first, which brings the file up to date`,
    );
  }
  lock.release();
}

/** Opens an existing state file, read-only. Throws a UserError. */
export function openStateToRead(path: string): OpenState {
  return openFile(openToRead(path), false);
}

/** An empty state, for read commands without a state file. */
export function emptyState(): OpenState {
  return openFile(openEmptyDatabase(), false);
}

/** Restricts a state file to its owner, for callers that open it directly. Throws a UserError. */
export function closeToOthers(path: string): void {
  refuseWithoutIndex(path);
  if (isOwnFile(path)) makePrivate(path);
}

function openFile(database: Sqlite, created: boolean): OpenState {
  const carryOutLater = async <T>(operation: Operation<T>) => carryOut(database, operation);
  let version: number | undefined;
  return {
    ...openBook(DIALECT, carryOutLater),
    alerts: openPart(new FileAlerts(), carryOutLater),
    kept: openPart(new FileKept(), carryOutLater),
    standings: { of: async (keyId, wallMs) => new StandingReader(database).of(keyId, wallMs) },
    nodes: undefined,
    created: created ? `the state file ${database.name}` : undefined,
    async run(work) {
      try {
        return await work();
      } catch (error) {
        throw explained(error, database.name);
      }
    },
    async hasChanged() {
      const before = version;
      version = dataVersion(database);
      return version !== before;
    },
    async close() {
      database.close();
    },
  };
}

/** `$3`: ids and tokens as a JSON array of objects. For a repeated id the last entry wins. */
const ADD = `INSERT INTO kept_responses (key_id, id, response_id, tokens, upstream, model, at_ms)
  SELECT $1, value ->> 'id', $2, value ->> 'tokens', $4, $5, $6 FROM json_each($3) WHERE true
  ON CONFLICT DO UPDATE SET response_id = excluded.response_id, tokens = excluded.tokens, upstream = excluded.upstream,
    model = excluded.model, at_ms = excluded.at_ms`;
const DROP_OLD = `DELETE FROM kept_responses WHERE (key_id, id) IN (SELECT key_id, id FROM kept_responses
  WHERE at_ms <= $1 ORDER BY at_ms LIMIT ${MAX_DROPPED_IDS})`;
const DROP_EXCESS = `DELETE FROM kept_responses WHERE key_id = $1 AND id IN (SELECT id FROM kept_responses
  WHERE key_id = $1 ORDER BY at_ms LIMIT (SELECT max(0, min(count(*) - ${MAX_KEPT_IDS}, ${MAX_DROPPED_IDS}))
    FROM kept_responses WHERE key_id = $1))`;
const DROP = 'DELETE FROM kept_responses WHERE key_id = $1 AND response_id = $2';

class FileKept extends KeptBook {
  constructor() {
    super(DIALECT);
  }

  drop(keyId: string, responseId: string): Operation<void> {
    return transaction(nothing(rows(DROP, [keyId, responseId])));
  }

  protected write(response: KeptResponse, isBounded: boolean): Operation<void> {
    return transaction(written(response, isBounded));
  }
}

function* written(response: KeptResponse, isBounded: boolean): Operation<void> {
  const { keyId, id: responseId, upstream, model, atMs } = response;
  yield* rows(DROP_OLD, [atMs - KEPT_MS]);
  yield* rows(ADD, [keyId, responseId, JSON.stringify(idsOf(response)), upstream, model, atMs]);
  if (isBounded) yield* rows(DROP_EXCESS, [keyId]);
}

function* nothing(work: Operation<unknown>): Operation<void> {
  yield* work;
}
