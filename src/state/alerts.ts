/** Alerts as they are stored: what was told last of each subject, and the outbox of what is to be delivered. */
import type { Nanos } from '../core/money.ts';
import { balanceColumns } from './account.ts';
import type { PartLater } from './book.ts';
import { type Dialect, type Operation, rows } from './operation.ts';
import type { Row } from './rows.ts';

/** The last alert about a subject, such as a budget of a key. */
export interface AlertMark {
  /** What it was about: a month, or the account since credit was last added. In another one everything is news. */
  readonly span: string;
  readonly value: string;
  readonly toldAtMs: number;
  /** From then on the mark no longer counts; null for never. */
  readonly untilMs: number | null;
}

export interface StoredMark extends AlertMark {
  /** Grows with each change. */
  readonly revision: number;
}

/** A change of a mark. It is made only if nobody has changed the mark since it was read. */
export interface MarkChange {
  readonly subject: string;
  /** The revision that was read; 0 if there was no mark. */
  readonly revision: number;
  /** Undefined removes the mark. */
  readonly mark: AlertMark | undefined;
}

/** An event for the outbox, and where it goes. */
export interface OutgoingAlert {
  readonly id: string;
  /** The event as JSON. */
  readonly body: string;
  readonly atMs: number;
  /** Ids of targets, at least one. */
  readonly targets: readonly string[];
}

/** `stale`: the mark has changed meanwhile. `full`: the outbox holds too much. Both change nothing. */
export type MarkOutcome = 'done' | 'stale' | 'full';

/** A delivery that one process has taken on. */
export interface ClaimedAlert {
  readonly delivery: number;
  readonly body: string;
  readonly atMs: number;
  /** How often it was tried before. */
  readonly attempts: number;
}

export type DeliveryResult =
  | { readonly kind: 'delivered'; readonly answer: string }
  /** It is tried again after that time. */
  | { readonly kind: 'retry'; readonly answer: string; readonly afterMs: number }
  | { readonly kind: 'given_up'; readonly answer: string };

export type DeliveryState = 'pending' | 'delivered' | 'failed';

/** A delivery as operators see it. */
export interface AlertDelivery {
  readonly body: string;
  readonly target: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** The last one; null before the first attempt. */
  readonly answer: string | null;
}

/** The account as alerts judge it. */
export interface AlertAccount {
  readonly balanceNanos: Nanos;
  readonly heldNanos: Nanos;
  /** All that was ever charged. */
  readonly chargedNanos: Nanos;
  /** The last credit entry: its number, and the balance after it. */
  readonly lastEntry: { readonly id: string; readonly balanceNanos: Nanos } | undefined;
}

/** Deliveries that wait, at most: beyond that nothing is added, and what was to be told stays to be told. */
export const MAX_PENDING = 1_000;
/** How many deliveries that have ended are kept, for operators. */
export const KEPT_DELIVERIES = 500;
/** Waiting deliveries to a target that no gateway has any more are dropped after so long. */
export const MAX_PENDING_MS = 7 * 86_400_000;

/** Of this part each store has its own: gateways with a role of their own write to a database by its functions. */
export abstract class AlertBook {
  readonly #account: string;

  constructor(dialect: Dialect) {
    const entry = (column: string) => `(SELECT ${column} FROM inf_gw.credit_entries ORDER BY id DESC LIMIT 1)`;
    this.#account = `SELECT ${balanceColumns(dialect)},
      (SELECT coalesce(sum(amount_nanos), 0) FROM inf_gw.credit_entries) AS credited,
      ${entry('id')} AS entry, ${entry('balance_nanos')} AS entry_balance FROM inf_gw.account`;
  }

  *account(): Operation<AlertAccount> {
    const [row = {}] = yield* rows(this.#account);
    const balanceNanos = row.balance_nanos as bigint;
    return {
      balanceNanos,
      heldNanos: row.held_nanos as bigint,
      chargedNanos: (row.credited as bigint) - balanceNanos,
      lastEntry: row.entry === null ? undefined : { id: String(row.entry), balanceNanos: row.entry_balance as bigint },
    };
  }

  /** All marks, by subject. */
  *marks(): Operation<ReadonlyMap<string, StoredMark>> {
    const marks = yield* rows('SELECT subject, span, value, told_at_ms, until_ms, revision FROM inf_gw.alert_marks');
    return new Map(marks.map((row) => [row.subject as string, markOf(row)]));
  }

  /** The latest deliveries, newest first. */
  *list(limit: number): Operation<readonly AlertDelivery[]> {
    const text = 'SELECT body, target, state, attempts, answer FROM inf_gw.alert_outbox ORDER BY id DESC LIMIT $1';
    return (yield* rows(text, [limit])).map(deliveryOf);
  }

  /** Changes a mark and adds the event to the outbox, both or neither. */
  abstract change(change: MarkChange, alert: OutgoingAlert | undefined): Operation<MarkOutcome>;

  /** The oldest delivery to a target that is due. Unless it is settled it is due again after `leaseMs`. */
  abstract claim(target: string, owner: string, leaseMs: number): Operation<ClaimedAlert | undefined>;

  /** Ends what `claim` has begun. Without effect if somebody else has claimed it since. */
  abstract settle(delivery: number, owner: string, result: DeliveryResult): Operation<void>;

  /** Makes due what an earlier process of that name has claimed. */
  abstract release(owner: string): Operation<void>;
}

export type Alerts = PartLater<AlertBook>;

function markOf(row: Row): StoredMark {
  return {
    span: row.span as string,
    value: row.value as string,
    toldAtMs: Number(row.told_at_ms),
    untilMs: row.until_ms === null ? null : Number(row.until_ms),
    revision: Number(row.revision),
  };
}

function deliveryOf({ body, target, state, attempts, answer }: Row): AlertDelivery {
  return {
    body: body as string,
    target: target as string,
    state: state as DeliveryState,
    attempts: Number(attempts),
    answer: answer as string | null,
  };
}

/** Of a row with `delivery`, `body`, `at_ms` and `attempts`. */
export function claimedOf(row: Row | undefined): ClaimedAlert | undefined {
  if (row === undefined) return undefined;
  const { delivery, body, at_ms: atMs, attempts } = row;
  return { delivery: Number(delivery), body: body as string, atMs: Number(atMs), attempts: Number(attempts) };
}

/** What a delivery is after an attempt. */
export const STATES_AFTER: Readonly<Record<DeliveryResult['kind'], DeliveryState>> = {
  delivered: 'delivered',
  retry: 'pending',
  given_up: 'failed',
};
