/** The shared state as the ledger uses it. */

import type { Nanos } from '../../core/money.ts';
import type { PostgresAddress } from '../../core/postgres-address.ts';
import type { Settlement } from '../../core/settlement.ts';
import { NAME_KINDS } from '../../core/spent-by.ts';
import { END, SETTLEMENT } from '../journal.ts';
import type { KeyActivity } from '../nodes.ts';
import type { StorageFault } from '../storage-fault.ts';
import type { RefusalCount } from '../usage.ts';
import { ACTIVITY_OF_KEYS, BUSIEST } from './activity.ts';
import { ARGUMENTS, argumentsOf, type Batch, type BatchSettings, nameArgumentsOf } from './batch.ts';
import { type Decided, type DecidedRow, decidedOf } from './decided.ts';
import { Membership, type MembershipEvents, type SharedNode } from './membership.ts';
import { Minute } from './minute.ts';

/** A request of this process that was admitted. */
export interface OpenRequest {
  readonly keyId: string;
  readonly model: string;
  /** In microseconds since 1970, by the ledger's clock. */
  readonly admittedUs: bigint;
  readonly holdNanos: Nanos;
}

/** What never changes of a key. */
export interface KnownKey {
  readonly id: string;
  /** Whether `run` has made it. */
  readonly isLeashed: boolean;
}

interface KnownKeyRow {
  readonly id: string;
  readonly is_leashed: boolean;
}

const IS_LEASHED = 'EXISTS (SELECT FROM inf_gw.leashes l WHERE l.key_id = keys.id) AS is_leashed';
const DECIDE = `SELECT * FROM inf_gw.decide_batch(${parameters(ARGUMENTS)})`;
/** Only for batches that have names: others need not pay for it. */
const DECIDE_NAMED = `SELECT d.* FROM inf_gw.decide_batch(${parameters(ARGUMENTS)}) AS d,
  LATERAL inf_gw.enter_names(d.o_ended, ${parameters(5, ARGUMENTS + 1)})`;
/** Waits for the disk: no flush follows on these, and nobody would repeat them after a crash of the database. */
const DURABLY = `set_config('synchronous_commit', 'on', true)`;
const HELD_FOR = `SELECT held_nanos, coalesce((SELECT held_nanos FROM inf_gw.key_state s WHERE s.key_id = $1
    AND s.month = to_char(to_timestamp(a.last_us / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM')), 0) AS of_key FROM inf_gw.account a`;
/** Its admission: of a request that this process does not know, as its row has it. */
const LATE_ADMITTED_MS = 'coalesce($5 / 1000, (SELECT j.admitted_at_ms FROM inf_gw.journal j WHERE j.request_id = $7))';
/** The hold in six, the end, whose first is the id of the request, and who it was for in three. */
const SETTLE_LATE = `SELECT CASE WHEN inf_gw.settle_late(${parameters(6 + END.columns.length)}) THEN
    inf_gw.enter_names(ARRAY[$7], ARRAY[$7], ARRAY[${LATE_ADMITTED_MS}],
      ${NAME_KINDS.map((_, at) => `ARRAY[$${7 + END.columns.length + at}::text]`).join(', ')})
  END, ${DURABLY}`;
const GIVE_BACK = `SELECT settled, ${DURABLY} FROM inf_gw.give_back($1)`;
const COUNT_REFUSALS = `SELECT inf_gw.count_refusals(${parameters(6)})`;

export class SharedLedgerStore {
  readonly #membership: Membership;
  readonly #created: boolean;
  readonly #recoveredHolds: number;
  readonly #minute: Minute;
  /** Batches decided that somebody waits for, and those of them that are flushed. */
  #decided = 0;
  #flushed = 0;
  /** Whether batches were decided on connections that are gone: no flush is one for them. */
  #hasLostBatches = false;

  private constructor(membership: Membership, minute: Minute, created: boolean, recoveredHolds: number) {
    this.#membership = membership;
    this.#minute = minute;
    this.#created = created;
    this.#recoveredHolds = recoveredHolds;
  }

  /** Connects, makes or updates the tables, and joins the other gateways. Throws a UserError. */
  static async open(address: PostgresAddress, node: SharedNode, events: MembershipEvents): Promise<SharedLedgerStore> {
    let store: SharedLedgerStore | undefined;
    const onFault = (fault: StorageFault) => {
      store?.loseBatches();
      events.onFault(fault);
    };
    const minute = new Minute();
    const { membership, created, settled } = await Membership.open(address, node, minute, { ...events, onFault });
    store = new SharedLedgerStore(membership, minute, created, settled);
    return store;
  }

  /** What was decided and not flushed may be lost with the connections. */
  loseBatches(): void {
    if (this.#decided > this.#flushed) this.#hasLostBatches = true;
  }

  async summary(): Promise<{ created: boolean; balanceNanos: Nanos; keys: number; recoveredHolds: number }> {
    const text = `SELECT balance_nanos, (SELECT count(*) FROM inf_gw.keys WHERE state <> 'deleted') AS keys FROM inf_gw.account`;
    const [row] = await this.#aside<{ balance_nanos: string; keys: string }>('summary', text);
    return {
      created: this.#created,
      balanceNanos: BigInt(row?.balance_nanos ?? 0),
      keys: Number(row?.keys),
      recoveredHolds: this.#recoveredHolds,
    };
  }

  /**
   * Decides a batch in one transaction. Where it rejects, nobody knows whether it was committed.
   * `latestUs`: the latest time that the database's clock can rightly show; null for any.
   */
  decide(batch: Batch, settings: BatchSettings, latestUs: bigint | null): Promise<Decided> {
    return this.#membership.run(async ({ link, nodeId, epoch }) => {
      const names = nameArgumentsOf(batch);
      const values = [nodeId, epoch, latestUs, ...argumentsOf(batch, settings), ...names];
      const [name, text] = names.length === 0 ? ['decide', DECIDE] : ['decide_named', DECIDE_NAMED];
      const [row] = await link.decide<DecidedRow & Record<string, unknown>>(name, text, values);
      const decided = decidedOf(row as DecidedRow);
      if (needsFlush(batch, decided)) this.#decided++;
      this.#minute.count(performance.now(), admissionsIn(batch, decided), tokensIn(batch));
      return decided;
    });
  }

  /** Makes the batches decided so far durable. Rejects if one of them may be lost. */
  async flush(): Promise<void> {
    // Not on the new connections, which would be given up for it.
    if (this.#hasLostBatches) throw new Error('Connection terminated');
    await this.#membership.run(async ({ link }) => {
      const decided = this.#decided;
      await link.flush();
      this.#flushed = decided;
    });
  }

  /** What was lost is decided again. */
  forgetUnflushed(): void {
    this.#hasLostBatches = false;
    this.#flushed = this.#decided;
  }

  /** The keys with these hashes; those that there are no keys for are left out. */
  async keysByHash(hashes: readonly string[]): Promise<ReadonlyMap<string, KnownKey>> {
    const text = `SELECT hash, id, ${IS_LEASHED} FROM inf_gw.keys WHERE hash = ANY ($1)`;
    const rows = await this.#aside<KnownKeyRow & { hash: string }>('keys_by_hash', text, [hashes]);
    return new Map(rows.map(({ hash, id, is_leashed: isLeashed }) => [hash, { id, isLeashed }]));
  }

  /** Those of these ids that keys have. */
  async existing(keyIds: readonly string[]): Promise<readonly KnownKey[]> {
    const text = `SELECT id, ${IS_LEASHED} FROM inf_gw.keys WHERE id = ANY ($1)`;
    const rows = await this.#aside<KnownKeyRow>('existing', text, [keyIds]);
    return rows.map(({ id, is_leashed: isLeashed }) => ({ id, isLeashed }));
  }

  /** What is held for requests that a key has sent this month, and for all. */
  async heldFor(keyId: string): Promise<{ readonly heldOfKeyNanos: bigint; readonly heldNanos: bigint }> {
    const [row] = await this.#aside<{ of_key: string; held_nanos: string }>('held_for', HELD_FOR, [keyId]);
    return { heldOfKeyNanos: BigInt(row?.of_key ?? 0), heldNanos: BigInt(row?.held_nanos ?? 0) };
  }

  /**
   * Settles a request without a hold: corrects the row that it was charged as held in, or writes it.
   * Without `open`, only corrects. Counts once, however often it is called.
   */
  async settleLate(settlement: Settlement, open: OpenRequest | undefined): Promise<void> {
    const hold = [open?.keyId, open?.model, open?.admittedUs, open?.holdNanos];
    await this.#membership.run(({ link, nodeId }) =>
      link.decide('settle_late', SETTLE_LATE, [nodeId, open !== undefined, ...hold, ...SETTLEMENT.values(settlement)]),
    );
  }

  /** Releases admissions that were never answered. Returns those that were settled as held meanwhile. */
  async giveBack(requestIds: readonly string[]): Promise<readonly string[]> {
    const rows = await this.#membership.run(({ link }) =>
      link.decide<{ settled: string[] }>('give_back', GIVE_BACK, [requestIds]),
    );
    return rows[0]?.settled ?? [];
  }

  async writeRefusals(counts: readonly RefusalCount[]): Promise<void> {
    const column = <T>(read: (count: RefusalCount) => T) => counts.map(read);
    await this.#aside('count_refusals', COUNT_REFUSALS, [
      column(({ month }) => month),
      column(({ keyId }) => keyId),
      column(({ code }) => code),
      column(({ reason }) => reason),
      column(({ requests }) => requests),
      column(({ lastAtMs }) => lastAtMs),
    ]);
  }

  /** Drops at most `most` rows that were admitted before `beforeMs`. Returns true if there may be more. */
  async dropOldRows(beforeMs: number, most: number): Promise<boolean> {
    const text = 'SELECT inf_gw.drop_old_rows($1, $2) AS is_more';
    const [row] = await this.#aside<{ is_more: boolean }>('drop_old_rows', text, [Math.floor(beforeMs), most]);
    return row?.is_more ?? false;
  }

  /** Makes the months of the journal that are to come. */
  async makePartitions(): Promise<void> {
    await this.#aside('make_partitions', 'SELECT inf_gw.make_partitions()');
  }

  /** The account, the busiest keys and these keys, as all gateways have left them. */
  async snapshot(keyIds: readonly string[], busiest: number) {
    const [account] = await this.#aside<{ balance_nanos: string; held_nanos: string }>(
      'account',
      'SELECT balance_nanos, held_nanos FROM inf_gw.account',
    );
    return {
      balanceNanos: BigInt(account?.balance_nanos ?? 0),
      heldNanos: BigInt(account?.held_nanos ?? 0),
      busiest: await this.#activity('busiest', BUSIEST, busiest),
      keys: await this.#activity('activity', ACTIVITY_OF_KEYS, keyIds),
    };
  }

  /** Goes on by the clock of the database, after it was ahead and came back. */
  async followClock(): Promise<void> {
    await this.#aside('follow_clock', 'SELECT inf_gw.follow_clock()');
  }

  /** Rejects if the database cannot be used. */
  async probe(): Promise<void> {
    await this.#aside('probe', 'SELECT 1');
  }

  faultOf(error: unknown): StorageFault | undefined {
    return this.#membership.faultOf(error);
  }

  /** Flushes what was decided, and leaves the other gateways. */
  async close(): Promise<void> {
    try {
      if (this.#decided > this.#flushed && !this.#hasLostBatches) await this.flush();
    } finally {
      await this.#membership.close();
    }
  }

  async #activity(name: string, text: string, parameter: unknown): Promise<KeyActivity[]> {
    const rows = await this.#aside<{ key_id: string; requests: string; tokens: string; open: string }>(name, text, [
      parameter,
    ]);
    return rows.map(({ key_id: keyId, requests, tokens, open }) => ({
      keyId,
      requests: Number(requests),
      tokens: Number(tokens),
      open: Number(open),
    }));
  }

  #aside<Row extends object>(name: string, text: string, values: unknown[] = []): Promise<Row[]> {
    return this.#membership.run(
      ({ link }) => link.aside<Row & Record<string, unknown>>(name, text, values) as Promise<Row[]>,
    );
  }
}

/** Whether somebody waits until the batch is flushed. Refusals take nothing. */
function needsFlush(batch: Batch, decided: Decided): boolean {
  return batch.settlements.length > 0 || batch.growths.length > 0 || admissionsIn(batch, decided) > 0;
}

function admissionsIn({ asks }: Batch, decided: Decided): number {
  return decided.asks.filter(({ code }, index) => asks[index]?.kind === 0 && code === 0).length;
}

/** Input and output of the requests that ended. */
function tokensIn({ settlements }: Batch): number {
  return settlements.reduce((sum, { usage }) => sum + usage.promptTokens + usage.completionTokens, 0);
}

function parameters(count: number, first = 1): string {
  return Array.from({ length: count }, (_, index) => `$${index + first}`).join(', ');
}
