/** Reads the journal for the charts in slices, so that other work runs between them. */
import type { TrafficRow } from '../control/protocol.ts';
import type { HistoryRead, HistorySpan } from './history.ts';
import type { Store } from './store.ts';
import type { Turns } from './turns.ts';

interface Events {
  /** Runs a read and handles its failure. */
  attempt(read: () => Promise<void>): Promise<void>;
  /** Receives the rows of a span, or of the part that could be read. */
  onRows(rows: readonly TrafficRow[]): void;
}

export class HistoryTurns {
  readonly #store: Store;
  readonly #turns: Turns;
  readonly #events: Events;
  #current: HistoryRead | undefined;

  constructor(store: Store, turns: Turns, events: Events) {
    this.#store = store;
    this.#turns = turns;
    this.#events = events;
  }

  /** Starts reading a span; the previous read stops. */
  begin(span: HistorySpan): void {
    const read = this.#store.history(span);
    this.#current = read;
    this.#turns.add('history', () => this.#readOn(read));
  }

  /** Stops reading after the current slice. */
  stop(): void {
    this.#current = undefined;
  }

  async #readOn(read: HistoryRead): Promise<void> {
    if (this.#current !== read) return;
    let isMore = false;
    await this.#events.attempt(async () => {
      isMore = await this.#store.readOn(read);
    });
    if (this.#current !== read) return;
    if (isMore) return this.#turns.add('history', () => this.#readOn(read));
    this.#current = undefined;
    this.#events.onRows(read.rows());
  }
}
