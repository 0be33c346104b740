/** Traffic before the gateway's start for the charts, read from the journal in slices. */
import type { TrafficRow } from '../control/protocol.ts';
import { trafficRow } from '../control/traffic-row.ts';
import { isErrorOutcome } from '../core/settlement.ts';
import { emptyHistogram, record } from '../observe/histogram.ts';
import { emptySums, type Sums } from '../observe/minutes.ts';
import type { Book } from '../state/book.ts';
import type { HistoryRow } from '../state/history.ts';
import type { JournalPlace } from '../state/requests.ts';

const MINUTE_MS = 60_000;
/** Rows of a slice: reading them takes 6 ms from a file and 15 ms from a database, and blocks the dashboard. */
const SLICE_ROWS = 2_500;
/** Maximum rows to read; the charts of a busier gateway begin later. */
export const MAX_HISTORY_ROWS = 200_000;

export interface HistorySpan {
  readonly sinceMs: number;
  /** Exclusive. */
  readonly untilMs: number;
}

/** Reads the journal backwards through a span, from the latest request to the earliest. */
export class HistoryRead {
  readonly #span: HistorySpan;
  readonly #node: string;
  readonly #sums = new Map<number, Sums>();
  #before: JournalPlace;
  #rowsLeft = MAX_HISTORY_ROWS;

  /** `node`: the gateway whose requests are counted. */
  constructor(span: HistorySpan, node: string) {
    this.#span = span;
    this.#node = node;
    this.#before = { admittedAtMs: span.untilMs, row: 0n };
  }

  /** Reads a slice. Returns true if more remain. */
  async readOn(history: Book['history']): Promise<boolean> {
    const query = { sinceMs: this.#span.sinceMs, before: this.#before, node: this.#node, limit: SLICE_ROWS };
    const { rows, next } = await history.slice(query);
    for (const row of rows) this.#add(row);
    this.#rowsLeft -= SLICE_ROWS;
    if (next === undefined || this.#rowsLeft <= 0) return false;
    this.#before = next;
    return true;
  }

  /** Returns the minutes with ended requests, oldest first. */
  rows(): TrafficRow[] {
    return [...this.#sums.values()].toSorted((a, b) => a.atS - b.atS).map(trafficRow);
  }

  /** Counts a request in the minute of its end, as the gateway does. */
  #add({ settledAtMs, outcome, tokens, costNanos, firstByteMs }: HistoryRow): void {
    if (settledAtMs >= this.#span.untilMs) return;
    const atS = Math.floor(settledAtMs / MINUTE_MS) * 60;
    const sum = this.#sums.get(atS) ?? { ...emptySums(atS), firstByteMs: emptyHistogram() };
    this.#sums.set(atS, sum);
    sum.requests++;
    sum.tokens += tokens;
    sum.costNanos += costNanos;
    if (isErrorOutcome(outcome)) sum.errors.set(outcome, (sum.errors.get(outcome) ?? 0) + 1);
    if (firstByteMs !== undefined) record(sum.firstByteMs, firstByteMs);
  }
}
