/** The tables of alerts in PostgreSQL. Writes are functions, because a gateway's role may only call functions and read. */
import { AlertBook, claimedOf, STATES_AFTER } from '../alert-book.ts';
import type { ClaimedAlert, DeliveryResult, MarkChange, MarkOutcome, OutgoingAlert } from '../alerts.ts';
import { type Operation, rows } from '../operation.ts';
import { DIALECT } from './dialect.ts';

const CHANGE = 'SELECT inf_gw.change_alert($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS outcome';
/** Usually no delivery is due; the EXISTS check skips the function. */
const CLAIM = `SELECT c.* FROM inf_gw.claim_alert($1, $2, $3) c WHERE EXISTS (SELECT FROM inf_gw.alert_outbox
  WHERE target = $1 AND state = 'pending' AND due_at_ms <= extract(epoch FROM clock_timestamp()) * 1000)`;

export class DatabaseAlerts extends AlertBook {
  constructor() {
    super(DIALECT);
  }

  *change({ subject, revision, mark }: MarkChange, alert: OutgoingAlert | undefined): Operation<MarkOutcome> {
    const [row] = yield* rows(CHANGE, [
      subject,
      revision,
      mark?.span ?? null,
      mark?.value ?? null,
      mark?.toldAtMs ?? null,
      mark?.untilMs ?? null,
      alert?.id ?? null,
      alert?.body ?? null,
      alert?.atMs ?? null,
      alert?.targets ?? [],
    ]);
    return row?.outcome as MarkOutcome;
  }

  *claim(target: string, owner: string, leaseMs: number): Operation<ClaimedAlert | undefined> {
    const [row] = yield* rows(CLAIM, [target, owner, leaseMs]);
    return claimedOf(row);
  }

  *settle(delivery: number, owner: string, result: DeliveryResult): Operation<void> {
    const afterMs = result.kind === 'retry' ? result.afterMs : 0;
    const values = [delivery, owner, STATES_AFTER[result.kind], afterMs, result.answer];
    yield* rows('SELECT inf_gw.settle_alert($1, $2, $3, $4, $5)', values);
  }

  *release(owner: string): Operation<void> {
    yield* rows('SELECT inf_gw.release_alerts($1)', [owner]);
  }
}
