/** A gateway's membership in a shared state: its connections, its epoch, and its heartbeats. */

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { UserError } from '../../core/errors.ts';
import type { PostgresAddress } from '../../core/postgres-address.ts';
import type { StorageFault } from '../storage-fault.ts';
import { faultOf } from './faults.ts';
import { Link } from './link.ts';
import { migrate } from './migrations.ts';
import type { Minute } from './minute.ts';
import { explainedAtStart } from './server.ts';

/** Interval of heartbeats. */
const HEARTBEAT_MS = 1_000;
/** A gateway declares others dead only after it could have received their heartbeats for this long. */
const LISTENING_MS = 10_000;
/** Maximum time a start waits for a heartbeat of a gateway with the same name. */
const NAME_WAIT_MS = 4_000;
/** Pause between two attempts to reconnect. */
const RECONNECT_MS = 250;

/** SQLSTATEs of the functions in `schema/`. */
const EPOCH_OVER = 'IG001';
const NAME_TAKEN = 'IG002';
const UNWRITTEN = 'IG005';
const NEWER_RULES = 'IG006';

/** The database's error for an epoch that is over, raised locally. */
export class EpochOverError extends Error {
  readonly code = EPOCH_OVER;

  constructor() {
    super('the epoch of this node is over');
  }
}

/** Errors that end the connection: a standby, an overlong transaction, and an epoch that is over. */
const ENDING_STATES = ['25006', '25P04', EPOCH_OVER];

/** A gateway as the others see it. */
export interface SharedNode {
  readonly name: string;
  readonly version: string;
  readonly address: string;
  /** The newest rules version it supports. */
  readonly rules: number;
}

export interface MembershipEvents {
  /** The database is unusable or does not accept heartbeats. The membership keeps trying. */
  onFault(fault: StorageFault): void;
  /** Called when the connections are dropped, before `onFault`. */
  onLoss?(): void;
  /** Operators have stopped these requests. */
  onStops(requestIds: readonly string[]): void;
  /** Other gateways were declared dead, and their requests in flight were charged as held. */
  onDeaths(names: readonly string[], requests: number): void;
  /** Called once a second while this gateway is a member. */
  onBeat?(): void;
  /** Returns the last entry of the log that this gateway has applied. */
  seen?(): bigint;
}

/** The current connections, with the id and epoch of this gateway. */
export interface Seat {
  readonly link: Link;
  readonly nodeId: number;
  readonly epoch: string;
}

/** The gateway has no connections: the database is unreachable, or the gateway was shut out. Contains the fault. */
class NotSeatedError extends Error {
  readonly fault: StorageFault;

  constructor(fault: StorageFault) {
    super(fault.message);
    this.fault = fault;
  }
}

interface JoinRow {
  readonly node_id: number;
  readonly epoch: string;
  readonly settled: string;
}

interface ServerError extends Error {
  readonly code?: string;
  readonly detail?: string;
  readonly hint?: string;
}

export class Membership {
  readonly #address: PostgresAddress;
  readonly #node: SharedNode;
  /** The activity that each heartbeat reports. */
  readonly #minute: Minute;
  readonly #events: MembershipEvents;
  /** Distinguishes this process from an earlier one with the same name. */
  readonly #instance = randomUUID();
  #seat: Seat | undefined;
  #fault: StorageFault = { message: 'the database is not connected yet', kind: 'other' };
  /** The id of this gateway. */
  nodeId: number | undefined;
  /** The fault of its last heartbeat; undefined if that succeeded. */
  unheard: StorageFault | undefined;
  #seatedAtMs = 0;
  #isClosing = false;
  #heartbeat: NodeJS.Timeout | undefined;

  private constructor(address: PostgresAddress, node: SharedNode, minute: Minute, events: MembershipEvents) {
    this.#address = address;
    this.#node = node;
    this.#minute = minute;
    this.#events = events;
  }

  /**
   * Connects, migrates the tables and joins. Also returns whether the tables are new, and how many requests of an earlier
   * process with this name were settled. `complete` writes the pending decisions of that process, unless another gateway
   * does. Throws a UserError.
   */
  static async open(
    address: PostgresAddress,
    node: SharedNode,
    minute: Minute,
    events: MembershipEvents,
    complete: (link: Link) => Promise<void>,
  ): Promise<{ membership: Membership; created: boolean; settled: number }> {
    const membership = new Membership(address, node, minute, events);
    let link: Link | undefined;
    try {
      link = await Link.open(address, node.name);
      const created = await migrate(link.owner);
      await link.aside('make_partitions', 'SELECT inf_gw.make_partitions()');
      const settled = await membership.#joinFirst(link, complete);
      return { membership, created, settled };
    } catch (error) {
      link?.sever();
      throw await explainedAtStart(error, address);
    }
  }

  /**
   * Runs `work` on the connections. Rejects with a database error if no connection exists or if they break during the
   * work, which may or may not have been executed then.
   */
  async run<T>(work: (seat: Seat) => Promise<T>): Promise<T> {
    const seat = this.#seat;
    if (seat === undefined) throw new NotSeatedError(this.#fault);
    try {
      return await work(seat);
    } catch (error) {
      // Another call has detected the loss first, and has recorded its cause.
      if (this.#seat !== seat) throw new NotSeatedError(this.#fault);
      if (endsSeat(error)) this.#lose(error);
      throw error;
    }
  }

  /** Like `faultOf` in `faults.ts`. */
  faultOf(error: unknown): StorageFault | undefined {
    if (error instanceof NotSeatedError) return error.fault;
    // For an unusable server, such as a pooler.
    if (error instanceof UserError) return { message: error.lines.join('; '), kind: 'other' };
    const { code } = error as ServerError;
    if (code === EPOCH_OVER) {
      return { message: 'another gateway has taken this one for dead; it joins again', kind: 'other' };
    }
    if (code === NAME_TAKEN) return { message: takenBy(this.#node.name, error as ServerError), kind: 'other' };
    if (code === NEWER_RULES) return { message: newerRules(this.#node.rules, error as ServerError), kind: 'other' };
    return faultOf(error, this.#address);
  }

  /** Leaves the other gateways, which frees the name immediately. */
  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#heartbeat);
    const seat = this.#seat;
    this.#seat = undefined;
    if (seat === undefined) return;
    const { link, nodeId, epoch } = seat;
    await link.aside('leave', 'SELECT inf_gw.leave_node($1, $2)', [nodeId, epoch]).catch(() => {});
    await link.close().catch(() => {});
  }

  /** Joins. If a process with this name may still be alive, waits for its heartbeat. */
  async #joinFirst(link: Link, complete: (link: Link) => Promise<void>): Promise<number> {
    let aliveUs = '0';
    for (;;) {
      try {
        return await this.#join(link, aliveUs);
      } catch (error) {
        const { code, detail } = error as ServerError;
        if (code === UNWRITTEN) await complete(link);
        else if (code === NEWER_RULES) throw new UserError(newerRules(this.#node.rules, error as ServerError));
        else if (code !== NAME_TAKEN || detail === undefined) throw error;
        else if (aliveUs !== '0') throw new UserError(takenBy(this.#node.name, error as ServerError));
        else {
          await pause(NAME_WAIT_MS);
          aliveUs = detail;
        }
      }
    }
  }

  async #join(link: Link, aliveUs: string): Promise<number> {
    const { name, version, address, rules } = this.#node;
    const text = 'SELECT * FROM inf_gw.join_node($1, $2, $3, $4, $5, $6)';
    const [row] = await link.aside<JoinRow & Record<string, unknown>>('join', text, [
      name,
      this.#instance,
      version,
      address,
      aliveUs,
      rules,
    ]);
    const { node_id: nodeId, epoch, settled } = row as JoinRow;
    if (this.#isClosing) {
      link.sever();
      return Number(settled);
    }
    this.#seat = { link, nodeId, epoch };
    this.nodeId = nodeId;
    this.unheard = undefined;
    this.#seatedAtMs = performance.now();
    this.#beatSoon();
    return Number(settled);
  }

  #beatSoon(): void {
    clearTimeout(this.#heartbeat);
    this.#heartbeat = setTimeout(() => void this.#beat(), HEARTBEAT_MS);
  }

  async #beat(): Promise<void> {
    try {
      await this.beat();
    } catch (error) {
      const fault = this.faultOf(error);
      if (fault === undefined) throw error;
      if (!this.#isClosing) this.#events.onFault(fault);
    }
    await this.#reapDead();
    if (this.#seat !== undefined) this.#beatSoon();
  }

  /** Sends a heartbeat. */
  async beat(): Promise<void> {
    try {
      await this.run((seat) => this.#sendHeartbeat(seat));
      this.unheard = undefined;
    } catch (error) {
      this.unheard = this.faultOf(error);
      throw error;
    }
  }

  async #sendHeartbeat({ link, nodeId, epoch }: Seat): Promise<void> {
    const beat = 'SELECT * FROM inf_gw.beat($1, $2, $3, $4, $5)';
    const { requests, tokens } = this.#minute.sums(performance.now());
    const values = [nodeId, epoch, requests, tokens, this.#events.seen?.() ?? 0n];
    const [row] = await link.aside<{ epoch: string; stops: string[] | null }>('beat', beat, values);
    if (row?.epoch !== epoch) throw new EpochOverError();
    if (row.stops !== null) this.#events.onStops(row.stops);
    this.#events.onBeat?.();
  }

  /** Failures are retried with the next heartbeat, which does not depend on this check. */
  async #reapDead(): Promise<void> {
    if (this.#seat === undefined || performance.now() - this.#seatedAtMs <= LISTENING_MS) return;
    try {
      await this.run(({ link }) => this.#reap(link));
    } catch (error) {
      if (this.faultOf(error) === undefined) throw error;
    }
  }

  async #reap(link: Link): Promise<void> {
    const [row] = await link.aside<{ names: string[]; settled: string }>('reap', 'SELECT * FROM inf_gw.reap()');
    if (row !== undefined && row.names.length > 0) this.#events.onDeaths(row.names, Number(row.settled));
  }

  /** Drops the connections, reports the fault, and reconnects. */
  #lose(error: unknown): void {
    const fault = this.faultOf(error);
    if (fault === undefined || this.#seat === undefined) return;
    this.#seat.link.sever();
    this.#seat = undefined;
    this.#fault = fault;
    clearTimeout(this.#heartbeat);
    this.#events.onLoss?.();
    this.#events.onFault(fault);
    void this.#return();
  }

  async #return(): Promise<void> {
    while (this.#seat === undefined && !this.#isClosing) {
      let link: Link | undefined;
      try {
        link = await Link.open(this.#address, this.#node.name);
        await this.#join(link, '0');
      } catch (error) {
        link?.sever();
        const fault = this.faultOf(error);
        if (fault === undefined) throw error;
        this.#fault = fault;
        await pause(RECONNECT_MS);
      }
    }
  }
}

/** Whether an error makes the connections unusable, rather than failing a single query. */
function endsSeat(error: unknown): boolean {
  const { code = '' } = error as ServerError;
  const isFromServer = /^[0-9A-Z]{5}$/.test(code);
  // The server closed the connection, is no longer the primary, or has shut this gateway out.
  return !isFromServer || code.startsWith('57P') || code.startsWith('08') || ENDING_STATES.includes(code);
}

function newerRules(known: number, { detail }: ServerError): string {
  return `the gateways on this database decide by rules number ${detail}, and this version of inf-gw knows those up to ${known}; run the version that the others have`;
}

function takenBy(name: string, { hint }: ServerError): string {
  const where = hint === undefined || hint === '' ? '' : `, at ${hint}`;
  return `a gateway named ${name} is already running on this database${where}; stop it, or give this one another name with \`node:\` in its config`;
}
