/** Starts on a file with thousands of open requests, some of them killed halfway. */
import { copyFileSync, rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { newId } from '../../src/core/ids.ts';
import { PROGRAM, type Workplace } from '../support/cli.ts';
import type { Random } from '../support/random.ts';
import type { Site } from './cycles.ts';
import { auditDifferences, readState } from './state-file.ts';

const HOLDS = 10_000;
const INSERT = 'INSERT INTO holds VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL)';
/** The earliest kill, as a fraction of a complete start. */
const EARLIEST = 0.4;

export interface ManyHolds {
  readonly holds: number;
  /** From the start of the process until it listens. */
  readonly readyMs: number;
  readonly deviations: readonly string[];
}

/** On a site without requests so far. `kills`: the number of starts that are killed. */
export async function startWithManyHolds({ place, keys }: Site, random: Random, kills: number): Promise<ManyHolds> {
  const before = readState(place.statePath).balanceNanos;
  const expected = insertHolds(place.statePath, [keys.app.id, keys.other.id]);
  const original = `${place.statePath}-original`;
  copyFileSync(place.statePath, original);

  const startedAtMs = performance.now();
  const serving = await place.serve();
  const readyMs = performance.now() - startedAtMs;
  await serving.stop();
  const deviations = problemsOf(place.statePath, expected, before);
  if (readState(place.statePath).holds.size > 0) deviations.push('holds are still open after a whole start');

  for (let kill = 1; kill <= kills; kill++) {
    for (const ending of ['', '-wal', '-shm']) rmSync(place.statePath + ending, { force: true });
    copyFileSync(original, place.statePath);
    await startAndKill(place, readyMs * (EARLIEST + random.fraction() * (1 - EARLIEST)));
    deviations.push(
      ...problemsOf(place.statePath, expected, before).map((problem) => `a start that was killed: ${problem}`),
    );
  }
  return { holds: HOLDS, readyMs, deviations };
}

async function startAndKill(place: Workplace, afterMs: number): Promise<void> {
  const serving = place.launch([PROGRAM, 'serve']);
  await pause(afterMs);
  serving.signal('SIGKILL');
  await serving.ended;
}

/** Either all holds are open, or all are charged as held. */
function problemsOf(path: string, expected: ReadonlyMap<string, bigint>, balanceBefore: bigint): string[] {
  const { journal, holds, balanceNanos } = readState(path);
  const problems = auditDifferences(path);
  const isSettled = journal.length === HOLDS && holds.size === 0;
  const isUntouched = journal.length === 0 && holds.size === HOLDS;
  if (!isSettled && !isUntouched) problems.push(`there are ${journal.length} rows and ${holds.size} holds`);
  const wrong = journal.filter(
    (row) => row.source !== 'held' || row.outcome !== 'interrupted' || row.cost_nanos !== expected.get(row.request_id),
  );
  if (wrong.length > 0) problems.push(`${wrong.length} rows are not charged as their holds`);
  const charged = isSettled ? [...expected.values()].reduce((sum, nanos) => sum + nanos, 0n) : 0n;
  if (balanceNanos !== balanceBefore - charged) problems.push(`the balance is ${balanceNanos}`);
  return problems;
}

function insertHolds(path: string, keyIds: readonly string[]): Map<string, bigint> {
  const expected = new Map<string, bigint>();
  const database = new Database(path);
  const insert = database.prepare(INSERT);
  database.exec('BEGIN');
  for (let number = 1; number <= HOLDS; number++) {
    const id = newId('req', Date.now());
    const keyId = keyIds[number % keyIds.length] as string;
    insert.run(id, keyId, number % 3 === 0 ? 'host/even' : 'host/odd', Date.now(), number, 100, BigInt(number));
    expected.set(id, BigInt(number));
  }
  database.exec('COMMIT');
  database.close();
  return expected;
}
