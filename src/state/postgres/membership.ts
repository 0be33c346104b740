/** A gateway's place among those that share a state: its connections, its epoch, and its signs of life. */

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

/** The time between two signs of life. */
const HEARTBEAT_MS = 1_000;
/** Others are only taken for dead after they could have been heard for this long. */
const LISTENING_MS = 10_000;
/** A start waits this long for a sign of life of whoever has its name. */
const NAME_WAIT_MS = 4_000;
/** The pause between two attempts to connect again. */
const RECONNECT_MS = 250;

/** SQLSTATEs of the functions in `schema/`. */
const EPOCH_OVER = 'IG001';
const NAME_TAKEN = 'IG002';
const UNWRITTEN = 'IG005';
const NEWER_RULES = 'IG006';

/** As the database says it. */
export class EpochOverError extends Error {
  readonly code = EPOCH_OVER;

  constructor() {
    super('the epoch of this node is over');
  }
}

/** A standby, a transaction that took too long, and an epoch that is over. */
const ENDING_STATES = ['25006', '25P04', EPOCH_OVER];

/** A gateway as the others see it. */
export interface SharedNode {
  readonly name: string;
  readonly version: string;
  readonly address: string;
  /** The number of the newest rules that it can decide by. */
  readonly rules: number;
}

export interface MembershipEvents {
  /** The database cannot be used, or takes no sign of life; the membership keeps trying. */
  onFault(fault: StorageFault): void;
  /** The connections are given up, before that is said. */
  onLoss?(): void;
  /** Operators stop these requests. */
  onStops(requestIds: readonly string[]): void;
  /** Other gateways were silent for too long: their requests in flight are charged as held. */
  onDeaths(names: readonly string[], requests: number): void;
  /** Once a second, while this gateway takes part. */
  onBeat?(): void;
  /** The last entry of the log that this gateway has followed. */
  seen?(): bigint;
}

/** The connections in use, and under which number and epoch this gateway decides. */
export interface Seat {
  readonly link: Link;
  readonly nodeId: number;
  readonly epoch: string;
}

/** The database is out of reach, or this gateway shut out, and it is known why. */
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
  /** What the others are told of this gateway with each sign of life. */
  readonly #minute: Minute;
  readonly #events: MembershipEvents;
  /** Tells this process from an earlier one of the same name. */
  readonly #instance = randomUUID();
  #seat: Seat | undefined;
  #fault: StorageFault = { message: 'the database is not connected yet', kind: 'other' };
  /** The number of this gateway among all. */
  nodeId: number | undefined;
  /** Why its last sign of life did not get through; undefined if it did. */
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
   * Connects, brings the tables up to date and joins. Returns also whether the tables are new, and
   * how many requests of an earlier process of that name were settled. `complete` writes what that has decided and not
   * written, if nobody else does. Throws a UserError.
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
   * Runs `work` on the connections. Rejects with an error of the database if there are none, or if
   * they break meanwhile; then nobody knows what was carried out.
   */
  async run<T>(work: (seat: Seat) => Promise<T>): Promise<T> {
    const seat = this.#seat;
    if (seat === undefined) throw new NotSeatedError(this.#fault);
    try {
      return await work(seat);
    } catch (error) {
      // Another call has noticed it first, and knows better why.
      if (this.#seat !== seat) throw new NotSeatedError(this.#fault);
      if (endsSeat(error)) this.#lose(error);
      throw error;
    }
  }

  /** As `faultOf` of `faults.ts`. */
  faultOf(error: unknown): StorageFault | undefined {
    if (error instanceof NotSeatedError) return error.fault;
    // Of a server that cannot be used, such as a pooler.
    if (error instanceof UserError) return { message: error.lines.join('; '), kind: 'other' };
    const { code } = error as ServerError;
    if (code === EPOCH_OVER) {
      return { message: 'another gateway has taken this one for dead; it joins again', kind: 'other' };
    }
    if (code === NAME_TAKEN) return { message: takenBy(this.#node.name, error as ServerError), kind: 'other' };
    if (code === NEWER_RULES) return { message: newerRules(this.#node.rules, error as ServerError), kind: 'other' };
    return faultOf(error, this.#address);
  }

  /** Leaves the others: the name is free at once. */
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

  /** Joins; if a process of that name may still live, waits for a sign of it. */
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
    await this.#lookForDead();
    if (this.#seat !== undefined) this.#beatSoon();
  }

  /** Gives a sign of life. */
  async beat(): Promise<void> {
    try {
      await this.run((seat) => this.#giveSign(seat));
      this.unheard = undefined;
    } catch (error) {
      this.unheard = this.faultOf(error);
      throw error;
    }
  }

  async #giveSign({ link, nodeId, epoch }: Seat): Promise<void> {
    const beat = 'SELECT * FROM inf_gw.beat($1, $2, $3, $4, $5)';
    const { requests, tokens } = this.#minute.sums(performance.now());
    const values = [nodeId, epoch, requests, tokens, this.#events.seen?.() ?? 0n];
    const [row] = await link.aside<{ epoch: string; stops: string[] | null }>('beat', beat, values);
    if (row?.epoch !== epoch) throw new EpochOverError();
    if (row.stops !== null) this.#events.onStops(row.stops);
    this.#events.onBeat?.();
  }

  /** What fails of this is tried again with the next sign of life: the others hear of this gateway all the same. */
  async #lookForDead(): Promise<void> {
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

  /** Gives the connections up, says why, and connects again. */
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

/** Whether the connections cannot be used any more after an error, and not only its query failed. */
function endsSeat(error: unknown): boolean {
  const { code = '' } = error as ServerError;
  const isFromServer = /^[0-9A-Z]{5}$/.test(code);
  // The server ends the connection, is not the primary any more, or has shut this gateway out.
  return !isFromServer || code.startsWith('57P') || code.startsWith('08') || ENDING_STATES.includes(code);
}

function newerRules(known: number, { detail }: ServerError): string {
  return `the gateways on this database decide by rules number ${detail}, and this version of inf-gw knows those up to ${known}; run the version that the others have`;
}

function takenBy(name: string, { hint }: ServerError): string {
  const where = hint === undefined || hint === '' ? '' : `, at ${hint}`;
  return `a gateway named ${name} is already running on this database${where}; stop it, or give this one another name with \`node:\` in its config`;
}
