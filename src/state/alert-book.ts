/** Alerts in the operator's book: their marks and their outbox. */
import { balanceColumns } from './account-book.ts';
import type {
  AlertAccount,
  AlertDelivery,
  ClaimedAlert,
  DeliveryResult,
  DeliveryState,
  MarkChange,
  MarkOutcome,
  OutgoingAlert,
  StoredMark,
} from './alerts.ts';
import { type Dialect, type Operation, type PartLater, rows } from './operation.ts';
import type { Row } from './rows.ts';

/**
 * Alerts in the book. Each store implements the writes: on PostgreSQL, gateways with restricted roles write through
 * functions.
 */
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

  /** The oldest due delivery to a target. It becomes due again after `leaseMs` unless it is settled first. */
  abstract claim(target: string, owner: string, leaseMs: number): Operation<ClaimedAlert | undefined>;

  /** Ends a claimed delivery. Has no effect if another process has claimed it since. */
  abstract settle(delivery: number, owner: string, result: DeliveryResult): Operation<void>;

  /** Makes deliveries due again that an earlier process of this name had claimed. */
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

/** Parses a row with `delivery`, `body`, `at_ms` and `attempts`. */
export function claimedOf(row: Row | undefined): ClaimedAlert | undefined {
  if (row === undefined) return undefined;
  const { delivery, body, at_ms: atMs, attempts } = row;
  return { delivery: Number(delivery), body: body as string, atMs: Number(atMs), attempts: Number(attempts) };
}

/** The state of a delivery after an attempt. */
export const STATES_AFTER: Readonly<Record<DeliveryResult['kind'], DeliveryState>> = {
  delivered: 'delivered',
  retry: 'pending',
  given_up: 'failed',
};
