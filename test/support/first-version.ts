/**
 * A state file with the first version of the schema, written by hand: keys, credit, a journal with
 * sums, and a hold.
 */
import { chmodSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { hashKey, mintKey, previewKey } from '../../src/core/api-key.ts';
import { utcDay, utcMonth } from '../../src/core/clock.ts';
import { MIGRATIONS } from '../../src/state/sqlite/migrations.ts';
import { Random } from './random.ts';

export const CREDIT_NANOS = 50_000_000_000n;
export const OPEN_HOLD_NANOS = 12_345n;
const APPLICATION_ID = 0x69_6e_66_67;
const REQUESTS = 300;
const MODELS = ['mock/echo', 'mock/paid', 'groq/openai/c'];
const OUTCOMES = ['ok', 'ok', 'cancelled', 'upstream_error', 'invalid_request', 'internal_error'];
const SOURCES = ['reported', 'reported', 'counted', 'held'] as const;

/** A row of the journal in the first version. */
export interface OldRow {
  readonly id: string;
  readonly keyId: string;
  readonly model: string;
  readonly atMs: number;
  readonly outcome: string;
  readonly source: (typeof SOURCES)[number];
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly costNanos: bigint;
}

export interface OldFile {
  /** The ids of keys named `old` and `gone`; the second one is deleted. */
  readonly secrets: readonly [string, string];
  readonly keyIds: readonly [string, string];
  readonly rows: readonly OldRow[];
  /** The request in flight. */
  readonly openId: string;
}

/**
 * Writes the file. Its requests are from the three months before `untilMs`, some at the boundary of
 * a day.
 */
export function writeFirstVersion(path: string, untilMs: number): OldFile {
  const database = new DatabaseSync(path);
  database.exec(
    `PRAGMA journal_mode = WAL; PRAGMA application_id = ${APPLICATION_ID}; ${MIGRATIONS[0]}; PRAGMA user_version = 1`,
  );
  const secrets = [mintKey(), mintKey()] as const;
  const keyIds = [`key_${'0'.repeat(25)}1`, `key_${'0'.repeat(25)}2`] as const;
  const rows = Array.from({ length: REQUESTS }, (_, i) => oldRow(i, keyIds, untilMs));
  database.exec('BEGIN');
  writeKeys(database, keyIds, secrets);
  for (const row of rows) writeRow(database, row);
  const balance = CREDIT_NANOS - rows.reduce((sum, { costNanos }) => sum + costNanos, 0n);
  database.prepare('UPDATE account SET balance_nanos = ?').run(balance);
  database.prepare("INSERT INTO credit_entries VALUES (1, 5, ?, ?, 'first')").run(CREDIT_NANOS, CREDIT_NANOS);
  const openId = 'req_open';
  const hold = [openId, keyIds[0], 'mock/paid', untilMs, 100, 200, OPEN_HOLD_NANOS] as const;
  database.prepare('INSERT INTO holds VALUES (?, ?, ?, ?, ?, ?, ?)').run(...hold);
  database.exec('COMMIT');
  database.close();
  chmodSync(path, 0o600);
  return { secrets, keyIds, rows, openId };
}

function oldRow(i: number, keyIds: readonly [string, string], untilMs: number): OldRow {
  const random = new Random(i);
  const source = SOURCES[random.between(0, SOURCES.length - 1)] as OldRow['source'];
  const atMs = untilMs - random.between(1, 90 * 24) * 3_600_000 - random.between(0, 1);
  return {
    id: `req_old${i}`,
    keyId: keyIds[random.chance(0.7) ? 0 : 1],
    model: MODELS[random.between(0, MODELS.length - 1)] as string,
    atMs,
    outcome: source === 'held' ? 'interrupted' : (OUTCOMES[random.between(0, OUTCOMES.length - 1)] as string),
    source,
    promptTokens: random.between(0, 500),
    completionTokens: random.between(0, 500),
    costNanos: BigInt(random.between(0, 1_000_000)),
  };
}

function writeKeys(database: DatabaseSync, keyIds: OldFile['keyIds'], secrets: OldFile['secrets']): void {
  const insert = database.prepare(`INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, ?, ?, 7)`);
  const [old, gone] = secrets;
  insert.run(
    keyIds[0],
    'old',
    hashKey(old),
    previewKey(old),
    'enabled',
    42,
    3_000_000_000n,
    '["mock/echo","mock/paid"]',
  );
  insert.run(keyIds[1], 'gone', hashKey(gone), previewKey(gone), 'deleted', null, null, null);
}

/** Adds a row to the journal, and to the sums as that version did. */
function writeRow(database: DatabaseSync, row: OldRow): void {
  const { promptTokens: prompt, completionTokens: completion, costNanos } = row;
  database
    .prepare(
      `INSERT INTO journal (request_id, key_id, model, admitted_at_ms, settled_at_ms, outcome, source, prompt_tokens,
         cached_tokens, completion_tokens, cost_nanos) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)`,
    )
    .run(
      row.id,
      row.keyId,
      row.model,
      row.atMs,
      row.atMs + 100,
      row.outcome,
      row.source,
      prompt,
      completion,
      costNanos,
    );
  const errors = ['ok', 'cancelled'].includes(row.outcome) ? 0 : 1;
  database
    .prepare(
      `INSERT INTO usage_days VALUES (?, ?, ?, 1, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET requests = requests + 1,
         errors = errors + excluded.errors, prompt_tokens = prompt_tokens + excluded.prompt_tokens,
         completion_tokens = completion_tokens + excluded.completion_tokens, cost_nanos = cost_nanos + excluded.cost_nanos`,
    )
    .run(utcDay(row.atMs), row.keyId, row.model, errors, prompt, completion, costNanos);
  database
    .prepare(
      `INSERT INTO usage_months VALUES (?, ?, 1, ?, ?) ON CONFLICT DO UPDATE SET requests = requests + 1,
         tokens = tokens + excluded.tokens, cost_nanos = cost_nanos + excluded.cost_nanos`,
    )
    .run(row.keyId, utcMonth(row.atMs), prompt + completion, costNanos);
}
