/** The shared state as the ledger uses it. */

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

/** A request of this process that was admitted. */
export interface OpenRequest {
  readonly keyId: string;
  readonly model: string;
  /** In microseconds since 1970, by the ledger's clock. */
  readonly admittedUs: bigint;
  readonly holdNanos: Nanos;
  /** As in its hold. */
  readonly levels: readonly string[] | undefined;
}

/** Where a gateway is in the log: the last entry that it has followed. */
export interface Place {
  readonly seq: bigint;
  /** Its time, which tells it from another of that number; 0 for the beginning. */
  readonly atUs: bigint;
}

/** The end of the log that is lost. */
export interface LostEnd extends Place {
  /** The last entry that this gateway had seen on the disk. */
  readonly flushedSeq: bigint;
  /** Its requests that had ended there and are charged as held. */
  readonly heldRequests: number;
  /** When those were admitted that are in flight here and not in the tables, in microseconds since 1970. */
  readonly lateUs: readonly bigint[];
}

/** What has come of an addition to the log. */
export interface Appended {
  /** Undefined if this gateway is far behind: then nothing was added. */
  readonly atUs: bigint | undefined;
  /** The number of the entry; where none was added, of the last one. */
  readonly seq: bigint;
  /** Those before it that this gateway had not seen. */
  readonly entries: readonly EntryRow[];
  /** Of the keys asked for, as JSON. */
  readonly facts: string | null;
}

/** Waits for the disk: no flush follows on these, and nobody would repeat them after a crash of the database. */
const DURABLY = `set_config('synchronous_commit', 'on', true)`;
const APPEND = `SELECT * FROM inf_gw.append(${parameters(ARGUMENTS)})`;
/** What is given back is never asked for again, and no flush follows. */
const APPEND_DURABLY = `SELECT *, ${DURABLY} FROM inf_gw.append(${parameters(ARGUMENTS)})`;
const WRITE_FOR = `SELECT inf_gw.write_for(${parameters(3 + DECIDED_ARGUMENTS)})`;
const REBUILD = 'SELECT * FROM inf_gw.rebuild()';
/** The hold in seven, and the end. */
const SETTLE_LATE = `SELECT inf_gw.settle_late(${parameters(7 + SETTLEMENT.columns.length)}), ${DURABLY}`;
const RECORD_LOSS = `SELECT inf_gw.record_loss(${parameters(7)}), ${DURABLY}`;
const COUNT_REFUSALS = `SELECT inf_gw.count_refusals(${parameters(6)})`;

/** Writes what processes of this name have decided that are gone. */
export type Complete = (log: LogReader) => Promise<void>;

/** Runs work on the connections. */
type OnLink = <T>(work: (link: Link) => Promise<T>) => Promise<T>;

/** What is read of the log, and written for others, before and after this gateway takes part. */
export class LogReader {
  readonly #onLink: OnLink;

  constructor(onLink: OnLink) {
    this.#onLink = onLink;
  }

  /** `take` is given the facts, some at a time. */
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
   * Writes what another gateway has decided on its last entry, unless that is written. `seenSeq`: the last entry that
   * this one has followed; `recorded`: how it has decided.
   */
  async writeFor(nodeId: number, decided: Decided, seenSeq: bigint, recorded: string | null): Promise<void> {
    const values = [seenSeq, recorded, nodeId, ...decidedArguments(decided)];
    await this.#onLink((link) => link.aside('write_for', WRITE_FOR, values));
  }

  /** Ends the epoch of the gateway that has written an entry which is nonsense. Once for each entry. */
  async shutOut(seq: bigint): Promise<void> {
    await this.#onLink((link) => link.aside('shut_out', 'SELECT inf_gw.shut_out($1)', [seq]));
  }
}

export class SharedLedgerStore {
  /** The last entry of the log that this gateway has followed. */
  seen = 0n;
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

  /**
   * Connects, makes or updates the tables, and joins the other gateways. `complete` writes what an earlier process of
   * this name has decided and did not write. Throws a UserError.
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
   * Adds to the log, in one transaction. Where it rejects, nobody knows whether it was committed. `latestUs`: the latest
   * time that the database's clock can rightly show; null for any. `isFlushed`: whether a flush is sent with it.
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

  /** Writes down what the database has lost of the log, for operators. Once, however often it is called. */
  async recordLoss({ seq, atUs, flushedSeq, heldRequests, lateUs }: LostEnd): Promise<void> {
    await this.#membership.run(({ link, nodeId, epoch }) =>
      link.aside('record_loss', RECORD_LOSS, [nodeId, epoch, seq, atUs, flushedSeq, heldRequests, lateUs]),
    );
  }

  /** The number of this gateway among all; it stays the same under a new epoch. Undefined while the database is out of reach. */
  get nodeId(): number | undefined {
    return this.#membership.nodeId;
  }

  /** Why the others do not hear of this gateway, and will take it for dead; undefined if they do. */
  get unheard(): StorageFault | undefined {
    return this.#membership.unheard;
  }

  /** Requests that this gateway has admitted, and tokens of those that have ended, for the others to see. */
  count(requests: number, tokens: number): void {
    this.#minute.count(performance.now(), requests, tokens);
  }

  get log(): LogReader {
    return new LogReader((work) => this.#membership.run(({ link }) => work(link)));
  }

  /**
   * Makes the batches decided so far durable. Rejects if one of them may be lost, or if the others have taken this gateway for
   * dead: frozen until then, it would let out what they have given up.
   */
  flush(): Promise<void> {
    return this.#flush((link, decider) => link.flush(decider));
  }

  /** The same, by a flush that is sent now: one that came with a batch says what was true when it was carried out. */
  flushAnew(): Promise<void> {
    return this.#flush((link, decider) => link.flushAnew(decider));
  }

  async #flush(send: (link: Link, decider: Decider) => Promise<boolean>): Promise<void> {
    // Not on the new connections, which would be given up for it.
    if (this.#hasLostBatches) throw new Error('Connection terminated');
    await this.#membership.run(async ({ link, nodeId, epoch }) => {
      const decided = this.#decided;
      if (!(await send(link, { nodeId, epoch }))) throw new EpochOverError();
      this.#flushed = decided;
    });
  }

  /** What was lost is decided again. */
  forgetUnflushed(): void {
    this.#hasLostBatches = false;
    this.#flushed = this.#decided;
  }

  /** The ids of the keys with these hashes; those that there are no keys for are left out. */
  async keysByHash(hashes: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const text = 'SELECT hash, id FROM inf_gw.keys WHERE hash = ANY ($1)';
    const rows = await this.#aside<{ hash: string; id: string }>('keys_by_hash', text, [hashes]);
    return new Map(rows.map(({ hash, id }) => [hash, id]));
  }

  /**
   * Settles a request without a hold: corrects the row that it was charged as held in, or writes it.
   * Without `open`, only corrects. Counts once, however often it is called.
   */
  async settleLate(settlement: Settlement, open: OpenRequest | undefined): Promise<void> {
    const hold = [open?.keyId, open?.model, open?.admittedUs, open?.holdNanos, LEVELS.flat(open?.levels)];
    await this.#membership.run(({ link, nodeId }) =>
      link.decide('settle_late', SETTLE_LATE, [nodeId, open !== undefined, ...hold, ...SETTLEMENT.values(settlement)]),
    );
  }

  /** Those of these requests that have ended. */
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

  /** Drops at most `most` rows that were admitted before `beforeMs`. Returns true if there may be more. */
  async dropOldRows(beforeMs: number, most: number): Promise<boolean> {
    const text = 'SELECT inf_gw.drop_old_rows($1, $2) AS is_more';
    const [row] = await this.#aside<{ is_more: boolean }>('drop_old_rows', text, [Math.floor(beforeMs), most]);
    return row?.is_more ?? false;
  }

  /** Drops what no limit of an end user counts any more, at most `most` rows a table. Returns true if there may be more. */
  async dropIdleUsers(most: number): Promise<boolean> {
    const text = 'SELECT inf_gw.drop_idle_users($1) AS is_more';
    const [row] = await this.#aside<{ is_more: boolean }>('drop_idle_users', text, [most]);
    return row?.is_more ?? false;
  }

  /** Makes the months of the journal that are to come. */
  async makePartitions(): Promise<void> {
    await this.#aside('make_partitions', 'SELECT inf_gw.make_partitions()');
  }

  /** Drops what nobody will read of the log, some entries at a time. Returns true if there may be more. */
  async cutLog(): Promise<boolean> {
    const [row] = await this.#aside<{ is_more: boolean }>('cut_log', 'SELECT inf_gw.cut_log() AS is_more');
    return row?.is_more ?? false;
  }

  /** Goes on by the clock of the database, after it was ahead and came back. */
  async followClock(): Promise<void> {
    await this.#aside('follow_clock', 'SELECT inf_gw.follow_clock()');
  }

  /** Rejects if the database cannot be used, or takes no sign of life. */
  probe(): Promise<void> {
    return this.#membership.beat();
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

  #aside<Row extends object>(name: string, text: string, values: unknown[] = []): Promise<Row[]> {
    return this.#membership.run(
      ({ link }) => link.aside<Row & Record<string, unknown>>(name, text, values) as Promise<Row[]>,
    );
  }
}

function parameters(count: number): string {
  return Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ');
}
