/** The tables of alerts in a database. What writes is a function there, since a gateway's role may call no more. */
import type {
  AlertAccount,
  AlertDelivery,
  Alerts,
  ClaimedAlert,
  DeliveryResult,
  DeliveryState,
  MarkChange,
  MarkOutcome,
  OutgoingAlert,
  StoredMark,
} from '../alerts.ts';
import type { Database } from './database.ts';

const ACCOUNT = `SELECT balance_nanos, held_nanos,
  (SELECT coalesce(sum(amount_nanos), 0) FROM inf_gw.credit_entries) AS credited,
  (SELECT id FROM inf_gw.credit_entries ORDER BY id DESC LIMIT 1) AS entry,
  (SELECT balance_nanos FROM inf_gw.credit_entries ORDER BY id DESC LIMIT 1) AS entry_balance FROM inf_gw.account`;
const MARKS = 'SELECT subject, span, value, told_at_ms, until_ms, revision FROM inf_gw.alert_marks';
const CHANGE = 'SELECT inf_gw.change_alert($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS outcome';
/** Most often there is nothing, and then the function is not called. */
const CLAIM = `SELECT c.* FROM inf_gw.claim_alert($1, $2, $3) c WHERE EXISTS (SELECT FROM inf_gw.alert_outbox
  WHERE target = $1 AND state = 'pending' AND due_at_ms <= extract(epoch FROM clock_timestamp()) * 1000)`;
const LIST = 'SELECT body, target, state, attempts, answer FROM inf_gw.alert_outbox ORDER BY id DESC LIMIT $1';

export class PostgresAlerts implements Alerts {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async account(): Promise<AlertAccount> {
    const [row] = await this.#database.run(ACCOUNT);
    if (row === undefined) throw new Error('the account is gone');
    const balanceNanos = row.balance_nanos as bigint;
    return {
      balanceNanos,
      heldNanos: row.held_nanos as bigint,
      chargedNanos: (row.credited as bigint) - balanceNanos,
      lastEntry: row.entry === null ? undefined : { id: String(row.entry), balanceNanos: row.entry_balance as bigint },
    };
  }

  async marks(): Promise<ReadonlyMap<string, StoredMark>> {
    const rows = await this.#database.run(MARKS);
    return new Map(
      rows.map((row) => [
        row.subject as string,
        {
          span: row.span as string,
          value: row.value as string,
          toldAtMs: Number(row.told_at_ms),
          untilMs: row.until_ms === null ? null : Number(row.until_ms),
          revision: Number(row.revision),
        },
      ]),
    );
  }

  async change({ subject, revision, mark }: MarkChange, alert: OutgoingAlert | undefined): Promise<MarkOutcome> {
    const [row] = await this.#database.run(CHANGE, [
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

  async claim(target: string, owner: string, leaseMs: number): Promise<ClaimedAlert | undefined> {
    const [row] = await this.#database.run(CLAIM, [target, owner, leaseMs]);
    if (row === undefined) return undefined;
    const { delivery, body, at_ms: atMs, attempts } = row;
    return { delivery: Number(delivery), body: body as string, atMs: Number(atMs), attempts: Number(attempts) };
  }

  async settle(delivery: number, owner: string, result: DeliveryResult): Promise<void> {
    const states: Record<DeliveryResult['kind'], DeliveryState> = {
      delivered: 'delivered',
      retry: 'pending',
      given_up: 'failed',
    };
    const afterMs = result.kind === 'retry' ? result.afterMs : 0;
    const values = [delivery, owner, states[result.kind], afterMs, result.answer];
    await this.#database.run('SELECT inf_gw.settle_alert($1, $2, $3, $4, $5)', values);
  }

  async release(owner: string): Promise<void> {
    await this.#database.run('SELECT inf_gw.release_alerts($1)', [owner]);
  }

  async list(limit: number): Promise<readonly AlertDelivery[]> {
    const rows = await this.#database.run(LIST, [limit]);
    return rows.map(({ body, target, state, attempts, answer }) => ({
      body: body as string,
      target: target as string,
      state: state as DeliveryState,
      attempts: Number(attempts),
      answer: answer as string | null,
    }));
  }
}
