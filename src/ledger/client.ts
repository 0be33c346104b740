/** Starts the ledger, in its own thread or in the calling one, and opens ports for other threads. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Port } from '../core/port.ts';
import { startThread } from '../core/threads.ts';
import { LedgerClient, RemoteLedger } from './calls.ts';
import type { Handover } from './handover.ts';
import type { LedgerControl, LedgerOptions, LedgerStart, LedgerSummary } from './ledger.ts';
import type { Ask, Askable, LedgerCalls, MainCalls, Tellable, Told } from './protocol.ts';
import { LedgerOpening, type LedgerReports } from './serve.ts';

/** Events that the ledger reports outside of replies. */
export interface LedgerEvents {
  /** The state cannot be written. The message contains the cause and the remedy. */
  onStorageFault(message: string): void;
  /** The state can be written again. */
  onStorageRecovered(): void;
  /** An operator has stopped these requests through the database. */
  onStops(requestIds: readonly string[]): void;
  /** Other gateways have died, and this many of their requests were charged as held. */
  onDeaths(names: readonly string[], requests: number): void;
  /** After this log entry, the state of this gateway has diverged from the log. The gateway rebuilds it. */
  onDifference?(entry: bigint): void;
  /** This log entry is malformed. The gateway that wrote it is excluded. */
  onNonsense?(entry: bigint, nodeId: number): void;
  /** The database has lost this log entry. This many requests that had already ended are charged as held. */
  onLostLog?(entry: bigint, requests: number): void;
  /** The key of a settled request was deleted from the database, so the request is not charged. */
  onUncharged?(requestId: string): void;
  /** The process before a handover has ended, and this many of its requests were charged as held. */
  onOrphans(requests: number): void;
  /** An internal error has ended the ledger. Admission is closed for good. */
  onDeath(error: Error): void;
}

/** A running ledger, as seen by the thread that started it. */
export interface RunningLedger {
  readonly client: LedgerControl;
  readonly summary: LedgerSummary;
  /** Opens a port for another thread, which passes it to `connectLedger`. */
  connect(): MessagePort;
  /**
   * Opens a port for the commands of an earlier process, with the ids of its open requests. When the port closes, these
   * and all requests admitted through it are charged as held, unless they have ended.
   */
  connectEarlier(requestIds: readonly string[], onTold: (told: Told) => void): EarlierPort;
  /**
   * Completes pending work and stops deciding until `keep` or `forward`. Rejects with a UserError if the state cannot
   * be handed over; the ledger then continues.
   */
  handOver(): Promise<Handover>;
  /** Resumes deciding after a failed handover. */
  keep(): void;
  /**
   * Forwards commands to the ledger of the next process. `ask` receives the requests of each thread's port, and
   * undefined when a thread has ended.
   */
  forward(ask: (port: number, asked: Ask | undefined) => void): void;
  /** Passes a message of the next process to the thread at this port. */
  tell(port: number, told: Told): void;
  /** Fails all calls, and every later one, because the next process has ended. */
  abandon(reason: string): void;
  /** Runs the commands sent before, then closes the state. Unsettled requests stay open in it. */
  close(): Promise<void>;
}

/** A port that represents a port of an earlier process. */
export interface EarlierPort {
  ask(asked: Ask): void;
  close(): void;
}

/** A prepared ledger, before it opens the state. */
export interface WaitingLedger {
  /** Resolves when the modules needed to open the state are loaded. Rejects with a UserError if opening would take long. */
  readonly loaded: Promise<void>;
  /** Opens the state, and restores a handover. Throws a UserError if the state is unusable. */
  open(handover?: Handover): Promise<RunningLedger>;
  /** Releases the state. Call instead of `open`, or after it if no command was sent. */
  discard(): Promise<void>;
}

/** The thread that a ledger runs in: its own, or the calling one. */
export type Place = 'thread' | 'here';

/** Starts the ledger in its own thread. Throws a UserError if the state is unusable. */
export function startLedger(options: LedgerOptions, events: LedgerEvents): Promise<RunningLedger> {
  return prepareLedger(options, events, { place: 'thread', isAhead: false }).open();
}

/** Prepares a ledger. `isAhead`: loads as much as possible in advance, so that opening the state takes little time. */
export function prepareLedger(
  options: LedgerOptions,
  events: LedgerEvents,
  { place, isAhead }: { readonly place: Place; readonly isAhead: boolean },
): WaitingLedger {
  const main = reportsOf(events);
  return place === 'thread' ? inThread({ options, isAhead }, main, events) : here({ options, isAhead }, main, events);
}

function inThread(start: LedgerStart, main: LedgerReports, events: LedgerEvents): WaitingLedger {
  const thread = startThread('ledger/thread', { workerData: start });
  const port = new Port<MainCalls, LedgerCalls>(thread, 'the ledger');
  const ledger = new RemoteLedger(port);
  const client = new LedgerClient(ledger, onFaults(events));
  const served: MainCalls = { ...main, told: (...told) => client.tell(...told) };
  port.serve(served);
  const discard = async () => {
    // Ends the client first, so that the exit of the thread is not reported as a failure.
    client.end('the ledger is closed');
    await thread.terminate();
  };
  const loaded = port.call('load');
  // `open` reports the failure; without this handler, an earlier rejection would end the process.
  loaded.catch(() => {});
  const die = dieOnce(client, events);
  const calls: Calls = {
    connect: (...given) => port.tell('connect', ...given),
    handOver: () => port.call('handOver'),
    keep: () => port.tell('keep'),
    forward: () => port.tell('forward'),
    tell: (...given) => port.tell('tell', ...given),
    // A dead thread has already released the state.
    close: () => {
      ledger.send();
      return port.call('close').catch(() => {});
    },
  };
  return {
    loaded,
    open: async (handover) => {
      try {
        const summary = await port.call('open', handover);
        thread.on('error', die);
        // Deferred, because the reply to `close` arrives together with the exit event.
        thread.on('exit', () => setImmediate(() => die(new Error('the ledger has ended'))));
        return running(calls, client, summary, (forwarded) => port.serve({ ...served, forwarded }));
      } catch (error) {
        await discard();
        throw error;
      }
    },
    discard,
  };
}

function here(start: LedgerStart, main: LedgerReports, events: LedgerEvents): WaitingLedger {
  let die = (_: Error) => {};
  const reports = { ...main };
  const opening = new LedgerOpening(start, reports, (error) => die(error));
  const loaded = opening.load();
  // `open` reports the failure; without this handler, an earlier rejection would end the process.
  loaded.catch(() => {});
  return {
    loaded,
    open: async (handover) => {
      const { thread, summary } = await opening.open(handover);
      const client = new LedgerClient(thread, onFaults(events));
      die = dieOnce(client, events);
      thread.start(client);
      return running(thread, client, summary, (forwarded) => {
        reports.forwarded = forwarded;
      });
    },
    discard: async () => opening.close(),
  };
}

/** The calls of the main thread to a ledger with an open state. */
type Calls = Omit<LedgerCalls, 'ask' | 'load' | 'open'>;

function dieOnce(client: LedgerClient, events: LedgerEvents): (error: Error) => void {
  return (error) => {
    if (client.hasEnded) return;
    client.end(error.message);
    events.onDeath(error);
  };
}

function onFaults(events: LedgerEvents): (told: Told) => void {
  return (told) => {
    if (told[0] === 'storage_fault') events.onStorageFault(told[1]);
    else if (told[0] === 'storage_recovered') events.onStorageRecovered();
  };
}

/** Before a handover, no command is forwarded. */
function reportsOf(events: LedgerEvents): LedgerReports {
  return {
    stops: events.onStops,
    deaths: events.onDeaths,
    difference: (entry) => events.onDifference?.(entry),
    nonsense: (entry, nodeId) => events.onNonsense?.(entry, nodeId),
    lostLog: (entry, requests) => events.onLostLog?.(entry, requests),
    uncharged: (requestId) => events.onUncharged?.(requestId),
    orphans: events.onOrphans,
    forwarded: () => {},
  };
}

function running(
  calls: Calls,
  client: LedgerClient,
  summary: LedgerSummary,
  forwardTo: (forwarded: MainCalls['forwarded']) => void,
): RunningLedger {
  const connect = (inherited?: readonly string[]) => {
    const { port1, port2 } = new MessageChannel();
    calls.connect(port1, inherited);
    return port2;
  };
  return {
    client,
    summary,
    connect: () => connect(),
    connectEarlier: (requestIds, onTold) => {
      const channel = connect(requestIds);
      const asking = new Port<Tellable, Askable>(channel, 'the ledger');
      asking.serve({ told: (...told) => onTold(told) });
      return { ask: (asked) => asking.tell('ask', ...asked), close: () => channel.close() };
    },
    handOver: () => calls.handOver(),
    keep: () => calls.keep(),
    forward: (forwarded) => {
      forwardTo(forwarded);
      calls.forward();
    },
    tell: (number, told) => calls.tell(number, told),
    abandon: (reason) => {
      client.end(reason);
      // Also closes the ports of the other threads.
      void calls.close();
    },
    close: async () => {
      await calls.close();
      client.end('the ledger is closed');
    },
  };
}
