/**
 * Handles an operator's commands to a running gateway, by signals and over the control socket: status, reload, handover, stop.
 */

import type { Config } from '../config/config.ts';
import {
  type Greeting,
  type KeyRefusal,
  type ModelRow,
  meetingPath,
  type Snapshot,
  socketPathOf,
  type TakeoverOffer,
} from '../control/protocol.ts';
import { type ControlHandlers, ControlServer } from '../control/server.ts';
import { UserError } from '../core/errors.ts';
import type { ExplainQuestion, Explanation } from '../core/explanation.ts';
import { counted } from '../core/plural.ts';
import { isUnderNpm, VERSION } from '../core/program.ts';
import type { Log } from '../observe/log.ts';
import type { RefusalPage, RefusalQuery, RefusedMinutes } from '../observe/refusals.ts';
import type { SnapshotQuery } from '../observe/worker-snapshot.ts';
import { type Meeting, openMeeting } from '../takeover/meeting.ts';
import { assertSame } from '../takeover/protocol.ts';
import { Successor } from '../takeover/successor.ts';
import { announceProviders } from './announce.ts';
import type { Gateway } from './gateway.ts';
import { modelRows } from './served.ts';
import { notify } from './systemd.ts';

const NOT_FOR_POSTGRES =
  'a gateway on PostgreSQL does not hand over; start another one with a `node:` name and a `listen:` address of its own, then stop this one';

/**
 * Time limit of requests in flight after a handover, in milliseconds. It is long: the next process already serves new requests.
 */
const LONGEST_REQUEST_MS = 3_600_000;

/**
 * Ctrl-C signals all processes of the terminal, and npm forwards its own copy. A second signal within this time after the first
 * is treated as that copy.
 */
const NPM_COPY_MS = 500;

/** A running gateway controlled by its operator. */
export class Service implements ControlHandlers {
  readonly #gateway: Gateway;
  readonly #log: Log;
  readonly #readConfig: () => Config;
  readonly #exit: (status: number) => void;
  #isShuttingDown = false;
  /** Resolves when a handover has succeeded or failed; undefined before one. */
  #handover: Promise<void> | undefined;
  #successor: Successor | undefined;
  #successorPid = 0;
  #isLeaving = false;
  /** Whether the next process exited before this one. */
  #isLost = false;
  /** Resolves with the remaining time of requests in flight after a handover. */
  readonly #hurry = Promise.withResolvers<number>();
  #stoppedAtMs = 0;
  #control: ControlServer | undefined;

  constructor(gateway: Gateway, log: Log, readConfig: () => Config, exit: (status: number) => void) {
    this.#gateway = gateway;
    this.#log = log;
    this.#readConfig = readConfig;
    this.#exit = exit;
  }

  /** Opens the control socket. */
  async open(): Promise<void> {
    const socketPath = socketPathOf(this.#gateway.config);
    try {
      const control = new ControlServer(socketPath, this);
      await control.listen();
      this.#control = control;
    } catch (error) {
      // Requests can be served without a control socket.
      this.#log.error({ err: error }, `${(error as Error).message}; status, reload and tui cannot reach this gateway`);
    }
  }

  snapshot(query: SnapshotQuery): Promise<Snapshot> {
    return this.#gateway.snapshot(query);
  }

  models(): readonly ModelRow[] {
    return modelRows(this.#gateway.config);
  }

  async keyRefusal(name: string): Promise<KeyRefusal | undefined> {
    const provider = this.#gateway.config.providers.find((each) => each.name === name);
    if (provider === undefined) return undefined;
    const { refusedKey } = await import('../doctor/providers.ts');
    return refusedKey(provider, process.env);
  }

  explain(question: ExplainQuestion): Promise<Explanation> {
    return this.#gateway.explain(question);
  }

  refusals(query: RefusalQuery): Promise<RefusalPage> {
    return this.#gateway.refusals(query);
  }

  refusedMinutes(keyId: string): Promise<readonly RefusedMinutes[]> {
    return this.#gateway.refusedMinutes(keyId);
  }

  stopRequest(id: string): Promise<boolean> {
    return this.#gateway.stopRequest(id);
  }

  async reload(): Promise<void> {
    try {
      if (this.#isShuttingDown) throw new UserError('the gateway is shutting down');
      if (this.#handover !== undefined) throw new UserError('another process is taking over from this gateway');
      const config = this.#readConfig();
      await this.#gateway.reload(config);
      this.#log.info('config reloaded');
      announceProviders(config, this.#log);
    } catch (error) {
      const lines = error instanceof UserError ? error.lines : [String(error)];
      for (const line of lines) this.#log.error(`config not reloaded: ${line}`);
      throw error;
    }
  }

  async takeOver(offer: TakeoverOffer): Promise<Greeting> {
    const { config, address } = this.#gateway;
    if (this.#isShuttingDown)
      throw new UserError('the running gateway is shutting down; start again once it has ended');
    if (this.#handover !== undefined) throw new UserError('another process is taking over already');
    if (config.state.kind === 'postgres') throw new UserError(NOT_FOR_POSTGRES);
    const fault = this.#gateway.ledger.client.storageFault;
    if (fault !== undefined)
      throw new UserError(`the running gateway cannot write its state, so it is not handed over: ${fault}`);
    assertSame(offer);
    const handover = Promise.withResolvers<void>();
    this.#handover = handover.promise;
    this.#successorPid = offer.pid;
    try {
      const sockets = await this.#gateway.sockets();
      const meeting = await openMeeting(meetingPath(socketPathOf(config)));
      this.#log.info({ pid: offer.pid }, `process ${offer.pid} takes over`);
      void this.#handOver(meeting).finally(handover.resolve);
      const listensAt = { host: address.address, port: address.port };
      return { pid: process.pid, version: VERSION, listen: config.listen, address: listensAt, sockets: sockets.length };
    } catch (error) {
      this.#handover = undefined;
      handover.resolve();
      throw error;
    }
  }

  async #handOver(meeting: Meeting): Promise<void> {
    try {
      this.#successor = await Successor.meet(meeting, this.#gateway, {
        // The next process opens its own socket at the same path.
        onDecided: () => this.#control?.close(),
        onServing: () => void this.#leave(),
        onLost: () => this.#onLost(),
        onStop: (milliseconds) => this.#hurry.resolve(milliseconds),
      });
    } catch (error) {
      const lines = error instanceof UserError ? error.lines : [String(error)];
      this.#handover = undefined;
      for (const line of lines) this.#log.error(`not handed over, and serving on: ${line}`);
    }
  }

  /** Exits after the last request. */
  async #leave(): Promise<void> {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    const { drainMs } = this.#gateway.config.timeouts;
    const requests = counted(await this.#gateway.inFlight(), 'request');
    this.#log.info(`handed over: ending once ${requests} in flight have ended`);
    // Notify before exiting: systemd would treat the exit of the main process as the end of the service.
    const notified = this.#isLost ? undefined : notify({ mainPid: this.#successorPid }, this.#log);
    const left = this.#gateway.leave(drainMs).then(() => drainMs);
    const late = setTimeout(() => this.#hurry.resolve(0), LONGEST_REQUEST_MS);
    const milliseconds = await Promise.race([left, this.#hurry.promise]);
    clearTimeout(late);
    await notified;
    this.#finish(this.#stopGateway(milliseconds));
  }

  /** The next process exited first, so this one has no decider. */
  #onLost(): void {
    this.#isLost = true;
    this.#log.error('the process that took over has ended: the next start will charge requests in flight their holds');
    this.#gateway.ledger.abandon('the process that took over has ended');
    void this.#leave();
    this.#hurry.resolve(this.#gateway.config.timeouts.drainMs);
  }

  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  drain(): void {
    this.stop('drain');
  }

  /** `cause`: the name of a signal, or another reason. */
  stop(cause: string): void {
    if (this.#isShuttingDown) {
      if (isUnderNpm && performance.now() - this.#stoppedAtMs < NPM_COPY_MS) return;
      this.#log.warn(`${cause} again: exiting at once`);
      this.#exit(1);
      return;
    }
    this.#isShuttingDown = true;
    this.#stoppedAtMs = performance.now();
    if (this.#handover === undefined) this.#finish(this.#shutDown(cause));
    else void this.#handover.then(() => this.#stopAfterHandover(cause));
  }

  #stopAfterHandover(cause: string): void {
    if (this.#successor === undefined) return this.#finish(this.#shutDown(cause));
    const { drainMs } = this.#gateway.config.timeouts;
    this.#log.info(`${cause}: requests in flight have ${drainMs / 1000} s left`);
    this.#hurry.resolve(drainMs);
  }

  #finish(end: Promise<number>): void {
    end.then(this.#exit, (error: unknown) => {
      this.#log.fatal({ err: error }, 'internal error while shutting down');
      this.#exit(1);
    });
  }

  async #shutDown(cause: string): Promise<number> {
    void notify({ stopping: true }, this.#log);
    const { drainMs } = this.#gateway.config.timeouts;
    const requests = counted(await this.#gateway.inFlight(), 'request');
    this.#log.info(`${cause}: shutting down, waiting up to ${drainMs / 1000} s for ${requests} in flight`);
    return this.#stopGateway(drainMs);
  }

  async #stopGateway(milliseconds: number): Promise<number> {
    // Closes the socket before the lock is released, because the next gateway creates its own at the same path.
    const unsettled = await this.#gateway.stop(milliseconds, () => {
      if (this.#successor === undefined) this.#control?.close();
    });
    this.#successor?.end(this.#gateway.lastSnapshots);
    if (this.#isLost) return 1;
    if (unsettled === 0) {
      this.#log.info('everything is settled');
      return 0;
    }
    this.#log.error(`${counted(unsettled, 'request')} could not be settled; the next start will charge their holds`);
    return 1;
  }
}
