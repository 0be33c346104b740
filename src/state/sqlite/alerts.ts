/** The tables of alerts in a state file. */
import {
  type AlertAccount,
  type AlertDelivery,
  type ClaimedAlert,
  type DeliveryResult,
  type DeliveryState,
  KEPT_DELIVERIES,
  MAX_PENDING,
  MAX_PENDING_MS,
  type MarkChange,
  type MarkOutcome,
  type OutgoingAlert,
  type StoredMark,
} from '../alerts.ts';
import { immediately, type Sqlite } from './database.ts';

const ACCOUNT = `SELECT balance_nanos AS balance, (SELECT coalesce(sum(hold_nanos), 0) FROM holds) AS held,
  (SELECT coalesce(sum(amount_nanos), 0) FROM credit_entries) AS credited FROM account`;
const LAST_ENTRY = 'SELECT id, balance_nanos AS balance FROM credit_entries ORDER BY id DESC LIMIT 1';
const DUE = `SELECT id AS delivery, body, at_ms AS atMs, attempts FROM alert_outbox
  WHERE target = ? AND state = 'pending' AND due_at_ms <= ? ORDER BY due_at_ms, id LIMIT 1`;
const SET_MARK = `INSERT INTO alert_marks (subject, span, value, told_at_ms, until_ms, revision) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET span = excluded.span, value = excluded.value, told_at_ms = excluded.told_at_ms,
    until_ms = excluded.until_ms, revision = excluded.revision`;

export class AlertStore {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  account(): AlertAccount {
    const figures = this.#database.prepare(ACCOUNT).safeIntegers().get() as Record<string, bigint>;
    const entry = this.#database.prepare(LAST_ENTRY).safeIntegers().get() as
      | { id: bigint; balance: bigint }
      | undefined;
    const { balance = 0n, held = 0n, credited = 0n } = figures;
    return {
      balanceNanos: balance,
      heldNanos: held,
      chargedNanos: credited - balance,
      lastEntry: entry && { id: String(entry.id), balanceNanos: entry.balance },
    };
  }

  marks(): Map<string, StoredMark> {
    const text = 'SELECT subject, span, value, told_at_ms AS toldAtMs, until_ms AS untilMs, revision FROM alert_marks';
    const rows = this.#database.prepare(text).all() as (StoredMark & { subject: string })[];
    return new Map(rows.map(({ subject, ...mark }) => [subject, mark]));
  }

  change(change: MarkChange, alert: OutgoingAlert | undefined): MarkOutcome {
    return immediately(this.#database, () => {
      const { subject, revision, mark } = change;
      const stored = this.#database.prepare('SELECT revision FROM alert_marks WHERE subject = ?').pluck().get(subject);
      if ((stored ?? 0) !== revision) return 'stale';
      if (alert !== undefined && !this.#hasRoom()) return 'full';
      if (mark === undefined) this.#database.prepare('DELETE FROM alert_marks WHERE subject = ?').run(subject);
      else {
        const { span, value, toldAtMs, untilMs } = mark;
        this.#database.prepare(SET_MARK).run(subject, span, value, toldAtMs, untilMs, revision + 1);
      }
      if (alert !== undefined) this.#add(alert);
      return 'done';
    });
  }

  claim(target: string, owner: string, leaseMs: number): ClaimedAlert | undefined {
    // Most often there is nothing, and then nothing is locked.
    if (this.#due(target) === undefined) return undefined;
    return immediately(this.#database, () => {
      const due = this.#due(target);
      if (due === undefined) return undefined;
      this.#database
        .prepare('UPDATE alert_outbox SET due_at_ms = ?, claimed_by = ? WHERE id = ?')
        .run(Date.now() + leaseMs, owner, due.delivery);
      return due;
    });
  }

  settle(delivery: number, owner: string, result: DeliveryResult): void {
    const nowMs = Date.now();
    const [state, dueAtMs]: [DeliveryState, number] =
      result.kind === 'retry'
        ? ['pending', nowMs + result.afterMs]
        : [result.kind === 'delivered' ? 'delivered' : 'failed', nowMs];
    immediately(this.#database, () =>
      this.#database
        .prepare(
          `UPDATE alert_outbox SET state = ?, due_at_ms = ?, answer = ?, attempts = attempts + 1, claimed_by = NULL
             WHERE id = ? AND claimed_by = ?`,
        )
        .run(state, dueAtMs, result.answer, delivery, owner),
    );
  }

  release(owner: string): void {
    immediately(this.#database, () =>
      this.#database
        .prepare(`UPDATE alert_outbox SET due_at_ms = ?, claimed_by = NULL WHERE state = 'pending' AND claimed_by = ?`)
        .run(Date.now(), owner),
    );
  }

  list(limit: number): AlertDelivery[] {
    return this.#database
      .prepare('SELECT body, target, state, attempts, answer FROM alert_outbox ORDER BY id DESC LIMIT ?')
      .all(limit) as AlertDelivery[];
  }

  #due(target: string): ClaimedAlert | undefined {
    return this.#database.prepare(DUE).get(target, Date.now()) as ClaimedAlert | undefined;
  }

  #hasRoom(): boolean {
    const pending = this.#database.prepare("SELECT count(*) FROM alert_outbox WHERE state = 'pending'").pluck().get();
    return (pending as number) < MAX_PENDING;
  }

  #add({ id, body, atMs, targets }: OutgoingAlert): void {
    const insert = this.#database.prepare(
      `INSERT INTO alert_outbox (event_id, target, body, at_ms, due_at_ms) VALUES (?, ?, ?, ?, ?)`,
    );
    const nowMs = Date.now();
    for (const target of targets) insert.run(id, target, body, atMs, nowMs);
    this.#database
      .prepare(
        `DELETE FROM alert_outbox WHERE state <> 'pending' AND id <= (SELECT max(id) FROM alert_outbox) - ${KEPT_DELIVERIES}`,
      )
      .run();
    this.#database
      .prepare("DELETE FROM alert_outbox WHERE state = 'pending' AND at_ms < ?")
      .run(nowMs - MAX_PENDING_MS);
  }
}
