/** The ledger's store on a shared state. */

import type { Nanos } from '../../core/money.ts';
import type { PostgresAddress } from '../../core/postgres-address.ts';
import type { Settlement } from '../../core/settlement.ts';
import { LEVELS, SETTLEMENT } from '../journal.ts';
import type { StorageFault } from '../storage-fault.ts';
import type { RefusalCount } from '../usage.ts';
import {
  type Addition,
  ARGUMENTS,
  argumentsOf,
  DECIDED_ARGUMENTS,
  type Decided,
  decidedArguments,
  isAwaited,
} from './batch.ts';
import type { Decider, Link } from './link.ts';
import { type EntryRow, factsIn, type LogRow, type RebuildRow, type Rebuilt, rebuiltOf } from './log.ts';
import { EpochOverError, Membership, type MembershipEvents, type SharedNode } from './membership.ts';
import { Minute } from './minute.ts';

/** An admitted request of this process. */
export interface OpenRequest {
  readonly keyId: string;
  readonly model: string;
  /** Time of the ledger's clock in microseconds since 1970. */
  readonly admittedUs: bigint;
  readonly holdNanos: Nanos;
  /** As in its hold. */
  readonly levels: readonly string[] | undefined;
}

/** A gateway's position in the log: the last entry it has applied. */
export interface Place {
  readonly seq: bigint;
  /**
   * The time of the entry, which distinguishes it from another entry with the same number after a loss; 0 for the
   * beginning.
   */
  readonly atUs: bigint;
}

/** The lost end of the log. */
export interface LostEnd extends Place {
  /** The last entry that this gateway knew to be durable. */
  readonly flushedSeq: bigint;
  /** Number of its requests that ended in the lost part and are charged as held. */
  readonly heldRequests: number;
  /** Admission times of requests in flight here that are missing in the tables, in microseconds since 1970. */
  readonly lateUs: readonly bigint[];
}

/** The result of an addition to the log. */
export interface Appended {
  /** Undefined if this gateway is far behind; the addition was not made then. */
  readonly atUs: bigint | undefined;
  /** The number of the new entry; of the last entry if none was added. */
  readonly seq: bigint;
  /** The earlier entries that this gateway had not seen. */
  readonly entries: readonly EntryRow[];
  /** Facts of the requested keys, as JSON. */
  readonly facts: string | null;
}

/** Waits for the disk: no flush follows these statements, and after a database crash no gateway would repeat them. */
const DURABLY = `set_config('synchronous_commit', 'on', true)`;
const APPEND = `SELECT * FROM inf_gw.append(${parameters(ARGUMENTS)})`;
/** Revoked admissions are not sent again, and no flush follows. */
const APPEND_DURABLY = `SELECT *, ${DURABLY} FROM inf_gw.append(${parameters(ARGUMENTS)})`;
const WRITE_FOR = `SELECT inf_gw.write_for(${parameters(3 + DECIDED_ARGUMENTS)})`;
const REBUILD = 'SELECT * FROM inf_gw.rebuild()';
/** Seven arguments for the hold, then the settlement. */
const SETTLE_LATE = `SELECT inf_gw.settle_late(${parameters(7 + SETTLEMENT.columns.length)}), ${DURABLY}`;
const RECORD_LOSS = `SELECT inf_gw.record_loss(${parameters(7)}), ${DURABLY}`;
const COUNT_REFUSALS = `SELECT inf_gw.count_refusals(${parameters(6)})`;

/** Writes pending decisions of dead processes with this name. */
export type Complete = (log: LogReader) => Promise<void>;

/** Runs work on the current connections. */
type OnLink = <T>(work: (link: Link) => Promise<T>) => Promise<T>;

/** Reads the log and writes decisions for other gateways, before and after this gateway has joined. */
export class LogReader {
  readonly #onLink: OnLink;

  constructor(onLink: OnLink) {
    this.#onLink = onLink;
  }

  /** `take` receives the facts in batches. */
  async rebuild(take: (facts: unknown) => void): Promise<Rebuilt> {
    let rebuilt: Rebuilt | undefined;
    await this.#onLink((link) =>
      link.read<RebuildRow & Record<string, unknown>>('rebuild', REBUILD, (row) => {
        const facts = factsIn(row);
        if (facts === undefined) rebuilt = rebuiltOf(row);
        else take(facts);
      }),
    );
    return rebuilt as Rebuilt;
  }

  /**
   * Writes another gateway's decisions on its last entry, unless they are written. `seenSeq`: the last entry this gateway
   * has applied; `recorded`: its decisions.
   */
  async writeFor(nodeId: number, decided: Decided, seenSeq: bigint, recorded: string | null): Promise<void> {
    const values = [seenSeq, recorded, nodeId, ...decidedArguments(decided)];
    await this.#onLink((link) => link.aside('write_for', WRITE_FOR, values));
  }

  /** Ends the epoch of the gateway that wrote an invalid entry. Idempotent per entry. */
  async shutOut(seq: bigint): Promise<void> {
    await this.#onLink((link) => link.aside('shut_out', 'SELECT inf_gw.shut_out($1)', [seq]));
  }
}

export class SharedLedgerStore {
  /** The last entry of the log that this gateway has applied. */
  seen = 0n;
  readonly #membership: Membership;
  readonly #created: boolean;
  readonly #recoveredHolds: number;
  readonly #minute: Minute;
  /** Number of decided batches that a client waits for, and number of those flushed. */
  #decided = 0;
  #flushed = 0;
  /** Whether unflushed batches were decided on lost connections: a flush on new ones does not cover them. */
  #hasLostBatches = false;

  private constructor(membership: Membership, minute: Minute, created: boolean, recoveredHolds: number) {
    this.#membership = membership;
    this.#minute = minute;
    this.#created = created;
    this.#recoveredHolds = recoveredHolds;
  }

  /**
   * Connects, creates or migrates the tables, and joins the other gateways. `complete` writes the pending decisions of an
   * earlier process with this name. Throws a UserError.
   */
  static async open(
    address: PostgresAddress,
    node: SharedNode,
    events: MembershipEvents,
    complete: Complete,
  ): Promise<SharedLedgerStore> {
    let store: SharedLedgerStore | undefined;
    const minute = new Minute();
    const onLoss = () => store?.loseBatches();
    const all = { ...events, onLoss, onBeat: () => events.onBeat?.(), seen: () => store?.seen ?? 0n };
    const { membership, created, settled } = await Membership.open(address, node, minute, all, (link) =>
      complete(new LogReader((work) => work(link))),
    );
    store = new SharedLedgerStore(membership, minute, created, settled);
    return store;
  }

  /** Unflushed decisions may be lost with the connections. */
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
   * Adds to the log in one transaction. If it rejects, the transaction may or may not have committed. `latestUs`: the
   * latest plausible time of the database's clock; null without a limit. `isFlushed`: whether a flush is sent with the
   * addition.
   */
  append(addition: Addition, place: Place, latestUs: bigint | null, isFlushed = true): Promise<Appended> {
    return this.#membership.run(async ({ link, nodeId, epoch }) => {
      const values = [nodeId, epoch, latestUs, place.seq, place.atUs, ...argumentsOf(addition)];
      const isLast = addition.givenBack.length > 0;
      const [name, text] = isLast ? ['append_durably', APPEND_DURABLY] : ['append', APPEND];
      const flushFor = isFlushed && isAwaited(addition) ? { nodeId, epoch } : undefined;
      const [row] = await link.decide<LogRow & Record<string, unknown>>(name, text, values, flushFor);
      const { o_us: us, o_seq: seq, o_log: log, o_facts: facts } = row as LogRow;
      if (isAwaited(addition)) this.#decided++;
      const entries = log === null ? [] : (JSON.parse(log) as EntryRow[]);
      return { atUs: us === null ? undefined : BigInt(us), seq: BigInt(seq), entries, facts };
    });
  }

  /** Records for operators that the database lost the end of the log. Idempotent. */
  async recordLoss({ seq, atUs, flushedSeq, heldRequests, lateUs }: LostEnd): Promise<void> {
    await this.#membership.run(({ link, nodeId, epoch }) =>
      link.aside('record_loss', RECORD_LOSS, [nodeId, epoch, seq, atUs, flushedSeq, heldRequests, lateUs]),
    );
  }

  /** The id of this gateway, which stays the same under a new epoch. Undefined while the database is unreachable. */
  get nodeId(): number | undefined {
    return this.#membership.nodeId;
  }

  /**
   * The fault that blocks the heartbeats of this gateway, so that the others will declare it dead; undefined without one.
   */
  get unheard(): StorageFault | undefined {
    return this.#membership.unheard;
  }

  /** Counts admitted requests and tokens of ended requests, for display on other gateways. */
  count(requests: number, tokens: number): void {
    this.#minute.count(performance.now(), requests, tokens);
  }

  get log(): LogReader {
    return new LogReader((work) => this.#membership.run(({ link }) => work(link)));
  }

  /**
   * Makes all decided batches durable. Rejects if one of them may be lost, or if the other gateways have declared this one
   * dead: after a freeze it would send answers of requests that they have settled.
   */
  flush(): Promise<void> {
    return this.#flush((link, decider) => link.flush(decider));
  }

  /** Like `flush`, but sends a new flush now: an earlier one reports the membership as of its own execution. */
  flushAnew(): Promise<void> {
    return this.#flush((link, decider) => link.flushAnew(decider));
  }

  async #flush(send: (link: Link, decider: Decider) => Promise<boolean>): Promise<void> {
    // Thrown outside `run`, which would drop the new connections because of this error.
    if (this.#hasLostBatches) throw new Error('Connection terminated');
    await this.#membership.run(async ({ link, nodeId, epoch }) => {
      const decided = this.#decided;
      if (!(await send(link, { nodeId, epoch }))) throw new EpochOverError();
      this.#flushed = decided;
    });
  }

  /** Lost batches are decided again, so they need no flush. */
  forgetUnflushed(): void {
    this.#hasLostBatches = false;
    this.#flushed = this.#decided;
  }

  /** The ids of the keys with these hashes. Unknown hashes are omitted. */
  async keysByHash(hashes: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const text = 'SELECT hash, id FROM inf_gw.keys WHERE hash = ANY ($1)';
    const rows = await this.#aside<{ hash: string; id: string }>('keys_by_hash', text, [hashes]);
    return new Map(rows.map(({ hash, id }) => [hash, id]));
  }

  /**
   * Settles a request without a hold: corrects the row in which it was charged as held, or writes a row. Without `open` it
   * only corrects. Idempotent.
   */
  async settleLate(settlement: Settlement, open: OpenRequest | undefined): Promise<void> {
    const hold = [open?.keyId, open?.model, open?.admittedUs, open?.holdNanos, LEVELS.flat(open?.levels)];
    await this.#membership.run(({ link, nodeId }) =>
      link.decide('settle_late', SETTLE_LATE, [nodeId, open !== undefined, ...hold, ...SETTLEMENT.values(settlement)]),
    );
  }

  /** Returns the requests that have ended. */
  async ended(requestIds: readonly string[]): Promise<readonly string[]> {
    const text = 'SELECT request_id FROM inf_gw.journal WHERE request_id = ANY ($1)';
    const rows = await this.#aside<{ request_id: string }>('ended', text, [requestIds]);
    return rows.map(({ request_id: id }) => id);
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

  /** Drops at most `most` rows admitted before `beforeMs`. Returns true if more may remain. */
  async dropOldRows(beforeMs: number, most: number): Promise<boolean> {
    const text = 'SELECT inf_gw.drop_old_rows($1, $2) AS is_more';
    const [row] = await this.#aside<{ is_more: boolean }>('drop_old_rows', text, [Math.floor(beforeMs), most]);
    return row?.is_more ?? false;
  }

  /**
   * Drops sums of end users that no limit needs any more, at most `most` rows per table. Returns true if more may remain.
   */
  async dropIdleUsers(most: number): Promise<boolean> {
    const text = 'SELECT inf_gw.drop_idle_users($1) AS is_more';
    const [row] = await this.#aside<{ is_more: boolean }>('drop_idle_users', text, [most]);
    return row?.is_more ?? false;
  }

  /** Creates the journal partitions of future months. */
  async makePartitions(): Promise<void> {
    await this.#aside('make_partitions', 'SELECT inf_gw.make_partitions()');
  }

  /** Drops log entries that no gateway needs any more, in batches. Returns true if more may remain. */
  async cutLog(): Promise<boolean> {
    const [row] = await this.#aside<{ is_more: boolean }>('cut_log', 'SELECT inf_gw.cut_log() AS is_more');
    return row?.is_more ?? false;
  }

  /** Resumes with the current time of the database's clock, after it was ahead and was set back. */
  async followClock(): Promise<void> {
    await this.#aside('follow_clock', 'SELECT inf_gw.follow_clock()');
  }

  /** Rejects if the database is unusable or does not accept a heartbeat. */
  probe(): Promise<void> {
    return this.#membership.beat();
  }

  faultOf(error: unknown): StorageFault | undefined {
    return this.#membership.faultOf(error);
  }

  /** Flushes all decisions and leaves the other gateways. */
  async close(): Promise<void> {
    try {
      if (this.#decided > this.#flushed && !this.#hasLostBatches) await this.flush();
    } finally {
      await this.#membership.close();
    }
  }

  #aside<Row extends object>(name: string, text: string, values: unknown[] = []): Promise<Row[]> {
    return this.#membership.run(
      ({ link }) => link.aside<Row & Record<string, unknown>>(name, text, values) as Promise<Row[]>,
    );
  }
}

function parameters(count: number): string {
  return Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ');
}
