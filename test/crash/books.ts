/**
 * The run's own records: compares each cycle's requests with the journal, and remembers what it
 * contained.
 */
import type { Sent } from './load.ts';
import { matchRows } from './match.ts';
import { type KeyName, LARGE_RPM, SMALL_RPM } from './plan.ts';
import { type Position, type Row, readState, type Snapshot, START } from './state-file.ts';
import { faultOfAnswer, faultOfRow, wasRefused } from './verdicts.ts';

const WINDOW_MS = 60_000;
/** The journal has whole milliseconds of the wall clock, while admission uses another clock. */
const CLOCK_SLACK_MS = 100;

/** The result of one cycle. */
export interface Cycle {
  readonly sent: readonly Sent[];
  /** The file from `Books.position` on, after the kill and after the next start. */
  readonly killed: Snapshot;
  readonly restarted: Snapshot;
  /** How often the host received each request of the run, by its marker. */
  readonly seen: ReadonlyMap<number, number>;
  /** The notes of all credit entries of the run that had returned when the file was read. */
  readonly returned: readonly string[];
}

/** A reading of a key's window: its time by two clocks, and the number of requests. */
export interface Look {
  readonly key: KeyName;
  readonly sentAtWallMs: number;
  readonly answeredAtMs: number;
  readonly remaining: number;
}

export class Books {
  readonly deviations: string[] = [];
  position: Position = START;
  requests = 0;
  complete = 0;
  missing = 0;
  countedTwice = 0;
  heldRows = 0;
  readonly rows: Row[] = [];
  readonly #keys: Readonly<Record<KeyName, { readonly id: string }>>;
  readonly #admitted: { atMs: number; key: KeyName; admittedAtWallMs: number }[] = [];
  readonly #markers = new Set<number>();
  readonly #credit = new Map<string, bigint>();

  constructor(keys: Readonly<Record<KeyName, { readonly id: string }>>) {
    this.#keys = keys;
  }

  check({ sent, killed, restarted, seen, returned }: Cycle): void {
    const { rows, deviations, countedTwice } = matchRows(sent, restarted.journal, this.#keys, seen);
    this.deviations.push(...deviations);
    this.countedTwice += countedTwice;
    for (const request of sent)
      this.#checkRequest(request, rows.get(request), killed, seen.get(request.plan.marker) ?? 0);
    this.#checkHolds(killed, restarted);
    this.#checkCredit(restarted, returned);
    this.requests += sent.length;
    this.rows.push(...restarted.journal);
    this.position = {
      journalId: restarted.journal.at(-1)?.id ?? this.position.journalId,
      creditId: restarted.credit.at(-1)?.id ?? this.position.creditId,
    };
  }

  /** Compares the window that the restarted gateway reports with the journal of the last minute. */
  checkWindow({ key, sentAtWallMs, answeredAtMs, remaining }: Look): void {
    const used = (key === 'small' ? SMALL_RPM : LARGE_RPM) - remaining;
    const ofKey = this.#admitted.filter((request) => request.key === key);
    const least = ofKey.filter(({ atMs }) => atMs + WINDOW_MS > answeredAtMs).length;
    const most = ofKey.filter(
      ({ admittedAtWallMs }) => admittedAtWallMs + WINDOW_MS + CLOCK_SLACK_MS > sentAtWallMs,
    ).length;
    if (used < least || used > most) {
      this.#deviate(`the window of ${key} holds ${used} requests after the restart, not ${least} to ${most}`);
    }
  }

  /** Everything recorded in the run is still in the file, and nothing else. */
  close(path: string, seen: ReadonlyMap<number, number>): void {
    const { journal } = readState(path);
    const [first] = this.rows;
    const ours = first === undefined ? [] : journal.filter(({ id }) => id >= first.id);
    const changed = this.rows.filter(
      (row, index) => JSON.stringify(row, asText) !== JSON.stringify(ours[index], asText),
    );
    if (changed.length > 0)
      this.#deviate(`${changed.length} rows have changed since, the first is ${changed[0]?.request_id}`);
    if (ours.length > this.rows.length) this.#deviate(`${ours.length - this.rows.length} rows have come since`);
    for (const marker of seen.keys()) {
      if (this.#markers.has(marker)) continue;
      this.missing++;
      this.#deviate(`the host saw request ${marker}, which has no row`);
    }
    const times = this.rows
      .filter((row) => row.key_id === this.#keys.small.id)
      .map((row) => Number(row.admitted_at_ms));
    times.sort((a, b) => a - b);
    const overruns = times.filter(
      (at, index) => (times[index + SMALL_RPM] ?? Infinity) - at < WINDOW_MS - CLOCK_SLACK_MS,
    );
    if (overruns.length > 0) this.#deviate(`${overruns.length} times a minute held more than ${SMALL_RPM} requests`);
  }

  #checkRequest(request: Sent, row: Row | undefined, killed: Snapshot, timesSeen: number): void {
    const { plan, atMs, answer, problem } = request;
    const report = (text: string) => this.#deviate(`request ${plan.marker} (${plan.kind}, ${plan.key}): ${text}`);
    if (answer !== undefined) this.complete++;
    if (problem !== undefined) report(`its connection broke while the gateway ran: ${problem}`);
    const wrongAnswer = faultOfAnswer(request);
    if (wrongAnswer !== undefined) report(wrongAnswer);
    if (timesSeen > 1) report(`the host saw it ${timesSeen} times`);
    if (row === undefined) {
      if (timesSeen === 0 && (answer === undefined || wasRefused(request))) return;
      this.missing++;
      return report(timesSeen > 0 ? 'the host saw it, and it has no row' : 'it was answered, and has no row');
    }
    if (wasRefused(request)) return report(`it was refused, and has the row ${row.request_id}`);
    if (timesSeen === 0 && row.source !== 'held') report('the host never saw it, and its row is no hold');
    const wrongRow = faultOfRow(request, row, killed.holds.get(row.request_id));
    if (wrongRow !== undefined) report(wrongRow);
    if (row.source === 'held') this.heldRows++;
    this.#markers.add(plan.marker);
    this.#admitted.push({ atMs, key: plan.key, admittedAtWallMs: Number(row.admitted_at_ms) });
  }

  /** A start settles the open holds and changes nothing else. */
  #checkHolds(killed: Snapshot, restarted: Snapshot): void {
    if (restarted.holds.size > 0) this.#deviate(`${restarted.holds.size} holds are open after the restart`);
    const expected = killed.journal.length + killed.holds.size;
    if (restarted.journal.length !== expected) {
      this.#deviate(`the restart made ${restarted.journal.length} new rows of ${expected} ended or held requests`);
    }
    const before = killed.journal.map(({ request_id }) => request_id);
    const after = restarted.journal.slice(0, before.length).map(({ request_id }) => request_id);
    if (before.join() !== after.join()) this.#deviate('the restart changed rows that stood in the journal');
  }

  #checkCredit({ credit }: Snapshot, returned: readonly string[]): void {
    for (const { note, amount_nanos: amount } of credit) {
      if (this.#credit.has(note)) this.#deviate(`the credit entry ${note} is there twice`);
      this.#credit.set(note, amount);
    }
    for (const note of returned) {
      const amount = BigInt(note.slice(note.lastIndexOf('-') + 1));
      if (this.#credit.get(note) !== amount) this.#deviate(`the credit entry ${note} is ${this.#credit.get(note)}`);
    }
  }

  #deviate(text: string): void {
    this.deviations.push(text);
  }
}

function asText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
