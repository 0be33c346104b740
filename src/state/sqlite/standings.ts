/** The figures by which a newly started gateway on a state file would decide about requests of a level. */
import { utcMonth } from '../../core/clock.ts';
import { levelIdsOf } from '../levels.ts';
import type { Standing, StandingEntry } from '../standings.ts';
import { bookOf } from './book.ts';
import type { Sqlite } from './database.ts';
import { Journal } from './journal.ts';

const WINDOW_MS = 60_000;

export class StandingReader {
  readonly #account: ReturnType<typeof bookOf>['account'];
  readonly #journal: Journal;

  constructor(database: Sqlite) {
    this.#account = bookOf(database).account;
    this.#journal = new Journal(database);
  }

  /** Requests left open by a crash count as charged, as at the start of a gateway. */
  of(levelId: string, wallMs: number): Standing {
    const month = utcMonth(wallMs);
    const holds = this.#journal.openHolds();
    const interrupted = holds.filter((hold) => levelIdsOf(hold).includes(levelId));
    const ageMs = (atMs: number) => Math.max(0, wallMs - atMs);
    const sum = (amounts: readonly bigint[]) => amounts.reduce((total, each) => total + each, 0n);
    const ofMonth = interrupted.filter(({ admittedAtMs }) => utcMonth(admittedAtMs) === month);
    const recent = this.#journal.recent(wallMs - WINDOW_MS).filter((entry) => levelIdsOf(entry).includes(levelId));
    return {
      month,
      chargedNanos: this.#journal.chargedInMonth(levelId, month) + sum(ofMonth.map(({ holdNanos }) => holdNanos)),
      balanceNanos: this.#account.balance().balanceNanos - sum(holds.map(({ holdNanos }) => holdNanos)),
      heldNanos: 0n,
      entries: [
        ...recent.flatMap(({ admittedAtMs, settledAtMs, tokens }): StandingEntry[] => [
          { ageMs: ageMs(admittedAtMs), requests: 1, tokens: 0 },
          { ageMs: ageMs(settledAtMs), requests: 0, tokens },
        ]),
        ...interrupted.flatMap(({ admittedAtMs, inputTokens, outputTokens }): StandingEntry[] => [
          { ageMs: ageMs(admittedAtMs), requests: 1, tokens: 0 },
          { ageMs: 0, requests: 0, tokens: inputTokens + outputTokens },
        ]),
      ].filter((entry) => entry.ageMs < WINDOW_MS),
      open: [],
      interrupted: holds.length,
    };
  }
}
