/**
 * What a power cut can leave of SQLite's write-ahead log: every prefix of it is a valid state of
 * the file.
 */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import { auditDifferences, type Row, readState } from '../crash/state-file.ts';
import type { Random } from '../support/random.ts';

/** The log's format: a header with the page size, then frames of a header and a page each. */
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const PAGE_SIZE_OFFSET = 8;

export interface CutLog {
  readonly cuts: number;
  /** The number of different journals that the cuts left. */
  readonly journals: number;
  readonly deviations: readonly string[];
}

/** Truncates the log of a file that nobody uses, at each frame and at as many other bytes. */
export function cutLogOf(path: string, random: Random): CutLog {
  const log = readFileSync(`${path}-wal`);
  const full = readState(path).journal;
  const deviations: string[] = [];
  const lengths = new Set<number>();
  let known: readonly string[] = [];
  const cuts = cutsOf(log, random);
  for (const length of cuts) {
    const cut = `${path}-cut`;
    copyFileSync(path, cut);
    writeFileSync(`${cut}-wal`, log.subarray(0, length));
    const report = (text: string) => deviations.push(`cut at ${length}: ${text}`);
    try {
      openDatabase(cut).database.close();
      for (const problem of auditDifferences(cut)) report(problem);
      const { journal, holds } = readState(cut);
      for (const problem of problemsOfPrefix(journal, full)) report(problem);
      const admitted = new Set([...holds.keys(), ...journal.map(({ request_id }) => request_id)]);
      for (const id of known) if (!admitted.has(id)) report(`the request ${id} was in a shorter log and is gone`);
      known = [...admitted];
      lengths.add(journal.length);
    } catch (error) {
      report(String(error));
    }
  }
  if (!lengths.has(full.length)) deviations.push('the whole log does not give the whole journal');
  return { cuts: cuts.length, journals: lengths.size, deviations };
}

/** From an empty log to all of it, in order. */
function cutsOf(log: Buffer, random: Random): number[] {
  const frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(PAGE_SIZE_OFFSET);
  const cuts = [0, log.length];
  for (let at = HEADER_BYTES; at <= log.length; at += frameBytes) cuts.push(at, random.between(0, log.length));
  return cuts.toSorted((a, b) => a - b);
}

function problemsOfPrefix(journal: readonly Row[], full: readonly Row[]): string[] {
  const keys = ['request_id', 'outcome', 'source', 'cost_nanos'] as const;
  const wrong = journal.filter((row, index) => keys.some((key) => row[key] !== full[index]?.[key]));
  return wrong.map(({ request_id }) => `the row ${request_id} is not at its place in the whole journal`);
}
