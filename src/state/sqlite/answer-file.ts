/** The file of cached answers: entries are found by id and verified by a checksum; new entries evict the oldest. */
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { AnswerPlace, CachedAnswer, CacheTerms, SavedRow, Saving } from '../../core/cached-answers.ts';
import { immediately, type Sqlite, withRetry } from './database.ts';
import { COMPANIONS, createPrivately, isOwnFile, makePrivate } from './private-files.ts';
import { isDamage } from './storage-errors.ts';

/** Marks a file as one of cached answers: "infa" in ASCII. */
const ANSWERS_ID = 0x69_6e_66_61;
const VERSION = 1;

const TABLES = `
  CREATE TABLE answers(
    id TEXT PRIMARY KEY, model TEXT NOT NULL, stored_at_ms INTEGER NOT NULL, expires_at_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL, sum BLOB NOT NULL, facts TEXT NOT NULL, body BLOB NOT NULL, end BLOB
  ) STRICT;
  CREATE INDEX answers_by_age ON answers(model, stored_at_ms, bytes);
  CREATE INDEX answers_by_expiry ON answers(expires_at_ms);
  CREATE TABLE models(model TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;
  CREATE TABLE savings(
    day TEXT NOT NULL, key_id TEXT NOT NULL, model TEXT NOT NULL,
    hits INTEGER NOT NULL, tokens INTEGER NOT NULL, cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (day, key_id, model)
  ) STRICT, WITHOUT ROWID;
`;

/** Size of a row without its answer, in bytes. */
const ROW_BYTES = 512;
/** Maximum number of answers that one addition evicts: it holds the write lock while it does. */
const DROPPED_AT_ONCE = 100;
/** The log file is truncated to this size; otherwise it would keep the size of the largest transaction. In bytes. */
const LOG_BYTES = 8 * 1024 * 1024;

export class AnswerFile {
  readonly #database: Sqlite;

  private constructor(database: Sqlite) {
    this.#database = database;
  }

  /** Opens the file or creates it. A damaged cache file is recreated: its answers can be requested again. */
  static open(path: string): AnswerFile {
    try {
      return new AnswerFile(openTables(path));
    } catch (error) {
      if (!isDamage(error) || !remove(path)) throw error;
      return new AnswerFile(openTables(path));
    }
  }

  close(): void {
    this.#database.close();
  }

  /** Removes and closes the file if the error reports damage. */
  discardIfDamaged(error: unknown): boolean {
    if (!isDamage(error) && !hasLostTable(error)) return false;
    this.close();
    return remove(this.#database.name);
  }

  /** Finds an answer younger than `ttlMs`. An answer with a wrong checksum is dropped. */
  find({ id, model }: AnswerPlace, ttlMs: number, nowMs: number): CachedAnswer | undefined {
    const row = this.#database
      .prepare('SELECT stored_at_ms, facts, body, end, sum FROM answers WHERE id = ? AND model = ?')
      .get(id, model) as AnswerRow | undefined;
    if (row === undefined) return undefined;
    const ageMs = nowMs - row.stored_at_ms;
    // An entry from the future: the clock was ahead when it was stored. It must not live longer than its TTL.
    if (ageMs < 0 || ageMs >= ttlMs) return undefined;
    if (!sumOf(id, model, row).equals(row.sum)) {
      immediately(this.#database, () => this.#drop(id));
      return undefined;
    }
    const { cost, ...facts } = JSON.parse(row.facts) as Facts;
    return {
      ...facts,
      costNanos: BigInt(cost),
      body: row.body,
      end: row.end ?? undefined,
      storedAtMs: row.stored_at_ms,
    };
  }

  /** Stores an answer, and evicts the oldest answers of its model until all fit. */
  add(
    { id, model }: AnswerPlace,
    answer: CachedAnswer,
    { ttlMs, maxBytes }: Pick<CacheTerms, 'ttlMs' | 'maxBytes'>,
  ): void {
    const { body, end = null, storedAtMs, tokens, ignored, costNanos } = answer;
    const facts = JSON.stringify({ tokens, ignored, cost: String(costNanos) } satisfies Facts);
    const bytes = body.length + (end?.length ?? 0) + facts.length + ROW_BYTES;
    if (bytes > maxBytes) return;
    const sum = sumOf(id, model, { stored_at_ms: storedAtMs, facts, body, end });
    immediately(this.#database, () => {
      this.#drop(id);
      this.#dropExpired(storedAtMs);
      this.#dropOldest(model, maxBytes - bytes);
      this.#database
        .prepare(
          'INSERT INTO answers(id, model, stored_at_ms, expires_at_ms, bytes, sum, facts, body, end) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
        )
        .run(id, model, storedAtMs, storedAtMs + ttlMs, bytes, sum, facts, body, end);
      this.#grow(model, bytes);
    });
  }

  countSaving({ keyId, model, atMs, tokens, costNanos }: Saving): void {
    const day = new Date(atMs).toISOString().slice(0, 10);
    immediately(this.#database, () =>
      this.#database
        .prepare(
          `INSERT INTO savings VALUES (?, ?, ?, 1, ?, ?) ON CONFLICT DO UPDATE
           SET hits = hits + 1, tokens = tokens + excluded.tokens, cost_nanos = cost_nanos + excluded.cost_nanos`,
        )
        .run(day, keyId, model, tokens, costNanos),
    );
  }

  /** The savings of a range of days, inclusive. */
  savings(fromDay: string, toDay: string): SavedRow[] {
    const rows = this.#database
      .prepare(
        'SELECT day, key_id, model, hits, tokens, cost_nanos FROM savings WHERE day BETWEEN ? AND ? ORDER BY day',
      )
      .safeIntegers()
      .all(fromDay, toDay) as {
      day: string;
      key_id: string;
      model: string;
      hits: bigint;
      tokens: bigint;
      cost_nanos: bigint;
    }[];
    return rows.map(({ day, key_id: keyId, model, hits, tokens, cost_nanos: costNanos }) => {
      return { day, keyId, model, hits: Number(hits), tokens: Number(tokens), costNanos };
    });
  }

  #drop(id: string): void {
    const dropped = this.#database.prepare('DELETE FROM answers WHERE id = ? RETURNING model, bytes').get(id);
    if (dropped !== undefined) this.#shrink([dropped as Dropped]);
  }

  #dropExpired(nowMs: number): void {
    this.#shrink(
      this.#database
        .prepare(
          'DELETE FROM answers WHERE id IN (SELECT id FROM answers WHERE expires_at_ms <= ? LIMIT ?) RETURNING model, bytes',
        )
        .all(nowMs, DROPPED_AT_ONCE) as Dropped[],
    );
  }

  #dropOldest(model: string, roomBytes: number): void {
    const kept = this.#database.prepare('SELECT bytes FROM models WHERE model = ?').pluck();
    const oldest = this.#database.prepare(
      'SELECT id, bytes FROM answers WHERE model = ? ORDER BY stored_at_ms LIMIT ?',
    );
    for (let excess = ((kept.get(model) as number | undefined) ?? 0) - roomBytes; excess > 0; ) {
      const rows = oldest.all(model, DROPPED_AT_ONCE) as { id: string; bytes: number }[];
      if (rows.length === 0) return;
      for (const { id, bytes } of rows) {
        if (excess <= 0) return;
        this.#drop(id);
        excess -= bytes;
      }
    }
  }

  #shrink(dropped: readonly Dropped[]): void {
    for (const { model, bytes } of dropped) this.#grow(model, -bytes);
  }

  #grow(model: string, bytes: number): void {
    this.#database
      .prepare('INSERT INTO models VALUES (?, ?) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes')
      .run(model, bytes);
  }
}

/** The savings recorded in a gateway's cache file. */
export function readSavings(path: string, fromDay: string, toDay: string): SavedRow[] {
  const file = AnswerFile.open(path);
  try {
    return file.savings(fromDay, toDay);
  } finally {
    file.close();
  }
}

interface Facts extends Pick<CachedAnswer, 'tokens' | 'ignored'> {
  readonly cost: string;
}

interface AnswerRow {
  readonly stored_at_ms: number;
  readonly facts: string;
  readonly body: Uint8Array;
  readonly end: Uint8Array | null;
  readonly sum: Buffer;
}

interface Dropped {
  readonly model: string;
  readonly bytes: number;
}

/** The hash includes the lengths of the parts, so that bytes cannot shift from one part to the next. */
function sumOf(id: string, model: string, { stored_at_ms: at, facts, body, end }: Omit<AnswerRow, 'sum'>): Buffer {
  const head = JSON.stringify([id, model, at, facts, body.length, end?.length ?? null]);
  const hash = createHash('sha256').update(head).update(body);
  return (end === null ? hash : hash.update(end)).digest();
}

function openTables(path: string): Sqlite {
  createPrivately(path);
  makePrivate(path);
  const database = new Database(path, { timeout: 0, fileMustExist: true });
  try {
    makePrivate(path);
    withRetry(() => {
      const id = database.pragma('application_id', { simple: true });
      const isEmpty = database.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0;
      if (!isEmpty && id !== ANSWERS_ID) throw new Error(`${path} is not a file of cached answers`);
      database.pragma('journal_mode = WAL');
      // A power failure may lose the latest answers but does not damage the file.
      database.pragma('synchronous = NORMAL');
      database.pragma(`journal_size_limit = ${LOG_BYTES}`);
    });
    immediately(database, () => {
      if (database.pragma('user_version', { simple: true }) === VERSION) return;
      database.pragma(`application_id = ${ANSWERS_ID}`);
      database.exec(TABLES);
      database.pragma(`user_version = ${VERSION}`);
    });
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Returns false, and leaves the file unchanged, if it is not a cache file. */
function remove(path: string): boolean {
  if (!isOwnFile(path, ANSWERS_ID)) return false;
  for (const suffix of ['', ...COMPANIONS]) rmSync(path + suffix, { force: true });
  return true;
}

/** SQLite reports a missing table in an open file. The table existed, so the page with the schema is damaged. */
function hasLostTable(error: unknown): boolean {
  return (error as { code?: string }).code === 'SQLITE_ERROR';
}
