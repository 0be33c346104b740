/** What bounds the spending of a key that `run` has made: its own budgets, and the totals of the runs around it. */
import type { Nanos } from '../../core/money.ts';
import type { Activity } from './activity.ts';
import type { BudgetRoom, KeyBudgets } from './key-budgets.ts';

export class LeashBudgets implements Pick<KeyBudgets, 'isCurrent' | 'add' | 'spends' | 'rooms' | 'roomsOf'> {
  /** Undefined if the key has none of its own. */
  readonly own: KeyBudgets | undefined;
  readonly #outer: () => readonly KeyBudgets[];

  /** `outer`: those of the keys of the runs around it, as they are cached. */
  constructor(own: KeyBudgets | undefined, outer: () => readonly KeyBudgets[]) {
    this.own = own;
    this.#outer = outer;
  }

  isCurrent(wallMs: number): boolean {
    return this.own?.isCurrent(wallMs) ?? true;
  }

  /** Counts a charge on every leash that the key is on. */
  add(admittedAtMs: number, settledAtMs: number, nanos: Nanos): void {
    this.own?.add(admittedAtMs, settledAtMs, nanos);
    for (const budgets of this.#outer()) budgets.addToTotal(nanos);
  }

  spends(wallMs: number) {
    return [...(this.own?.spends(wallMs) ?? []), ...this.#totals((outer) => outer.spends(wallMs))];
  }

  rooms(activity: Activity, wallMs: number): readonly BudgetRoom[] {
    return [...(this.own?.rooms(activity, wallMs) ?? []), ...this.#totals((outer) => outer.rooms(activity, wallMs))];
  }

  roomsOf(admittedAtMs: number, activity: Activity, wallMs: number): readonly BudgetRoom[] {
    const own = this.own?.roomsOf(admittedAtMs, activity, wallMs) ?? [];
    return [...own, ...this.#totals((outer) => outer.rooms(activity, wallMs))];
  }

  #totals<Row extends { readonly period: string }>(read: (outer: KeyBudgets) => readonly Row[]): Row[] {
    return this.#outer().flatMap((outer) => read(outer).filter(({ period }) => period === 'total'));
  }
}
