/** The tables of alerts in a state file. */
import { AlertBook, claimedOf, STATES_AFTER } from '../alert-book.ts';
import {
  type ClaimedAlert,
  type DeliveryResult,
  KEPT_DELIVERIES,
  MAX_PENDING,
  MAX_PENDING_MS,
  type MarkChange,
  type MarkOutcome,
  type OutgoingAlert,
} from '../alerts.ts';
import { type Operation, rows, transaction } from '../operation.ts';
import { DIALECT } from './book.ts';

const DUE = `SELECT id AS delivery, body, at_ms, attempts FROM alert_outbox
  WHERE target = $1 AND state = 'pending' AND due_at_ms <= $2 ORDER BY due_at_ms, id LIMIT 1`;
const SET_MARK = `INSERT INTO alert_marks (subject, span, value, told_at_ms, until_ms, revision) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT DO UPDATE SET span = excluded.span, value = excluded.value, told_at_ms = excluded.told_at_ms,
    until_ms = excluded.until_ms, revision = excluded.revision`;
const SETTLE = `UPDATE alert_outbox SET state = $1, due_at_ms = $2, answer = $3, attempts = attempts + 1, claimed_by = NULL
  WHERE id = $4 AND claimed_by = $5`;
const RELEASE = `UPDATE alert_outbox SET due_at_ms = $1, claimed_by = NULL WHERE state = 'pending' AND claimed_by = $2`;
const ADD = 'INSERT INTO alert_outbox (event_id, target, body, at_ms, due_at_ms) VALUES ($1, $2, $3, $4, $5)';
const DROP_ENDED = `DELETE FROM alert_outbox WHERE state <> 'pending'
  AND id <= (SELECT max(id) FROM alert_outbox) - ${KEPT_DELIVERIES}`;
const DROP_PENDING = `DELETE FROM alert_outbox WHERE state = 'pending' AND at_ms < $1`;

export class FileAlerts extends AlertBook {
  constructor() {
    super(DIALECT);
  }

  change(change: MarkChange, alert: OutgoingAlert | undefined): Operation<MarkOutcome> {
    return transaction(changed(change, alert));
  }

  *claim(target: string, owner: string, leaseMs: number): Operation<ClaimedAlert | undefined> {
    // Usually no delivery is due; this check needs no lock.
    if ((yield* due(target)) === undefined) return undefined;
    return yield* transaction(claimed(target, owner, leaseMs));
  }

  *settle(delivery: number, owner: string, result: DeliveryResult): Operation<void> {
    const dueAtMs = Date.now() + (result.kind === 'retry' ? result.afterMs : 0);
    yield* transaction(rows(SETTLE, [STATES_AFTER[result.kind], dueAtMs, result.answer, delivery, owner]));
  }

  *release(owner: string): Operation<void> {
    yield* transaction(rows(RELEASE, [Date.now(), owner]));
  }
}

function* changed({ subject, revision, mark }: MarkChange, alert: OutgoingAlert | undefined): Operation<MarkOutcome> {
  const [stored] = yield* rows('SELECT revision FROM alert_marks WHERE subject = $1', [subject]);
  if (Number(stored?.revision ?? 0) !== revision) return 'stale';
  if (alert !== undefined && !(yield* hasRoom())) return 'full';
  if (mark === undefined) yield* rows('DELETE FROM alert_marks WHERE subject = $1', [subject]);
  else {
    const { span, value, toldAtMs, untilMs } = mark;
    yield* rows(SET_MARK, [subject, span, value, toldAtMs, untilMs, revision + 1]);
  }
  if (alert !== undefined) yield* added(alert);
  return 'done';
}

function* claimed(target: string, owner: string, leaseMs: number): Operation<ClaimedAlert | undefined> {
  const found = yield* due(target);
  if (found === undefined) return undefined;
  const text = 'UPDATE alert_outbox SET due_at_ms = $1, claimed_by = $2 WHERE id = $3';
  yield* rows(text, [Date.now() + leaseMs, owner, found.delivery]);
  return found;
}

function* due(target: string): Operation<ClaimedAlert | undefined> {
  const [row] = yield* rows(DUE, [target, Date.now()]);
  return claimedOf(row);
}

function* hasRoom(): Operation<boolean> {
  const [row] = yield* rows("SELECT count(*) AS pending FROM alert_outbox WHERE state = 'pending'");
  return Number(row?.pending) < MAX_PENDING;
}

function* added({ id, body, atMs, targets }: OutgoingAlert): Operation<void> {
  const nowMs = Date.now();
  for (const target of targets) yield* rows(ADD, [id, target, body, atMs, nowMs]);
  yield* rows(DROP_ENDED);
  yield* rows(DROP_PENDING, [nowMs - MAX_PENDING_MS]);
}
