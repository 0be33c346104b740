/** Starts the ledger, in a thread of its own or in this one, and opens ports for other threads. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Port } from '../core/port.ts';
import { startThread } from '../core/threads.ts';
import { LedgerClient, RemoteLedger } from './calls.ts';
import type { Handover } from './handover.ts';
import type { LedgerControl, LedgerOptions, LedgerStart, LedgerSummary } from './ledger.ts';
import type { Ask, Askable, LedgerCalls, MainCalls, Tellable, Told } from './protocol.ts';
import { LedgerOpening, type LedgerReports } from './serve.ts';

/** Events the ledger reports outside of replies. */
export interface LedgerEvents {
  /** The file cannot be written. The message says why and what to do. */
  onStorageFault(message: string): void;
  /** It can be written again. */
  onStorageRecovered(): void;
  /** Operators stop these requests, through the database. */
  onStops(requestIds: readonly string[]): void;
  /** Other gateways are dead, and this many requests of theirs were charged as held. */
  onDeaths(names: readonly string[], requests: number): void;
  /** After that entry of the log, this gateway has come to another state than the others. It begins anew. */
  onDifference?(entry: bigint): void;
  /** That entry of the log is nothing that a gateway asks. The gateway of that number is shut out. */
  onNonsense?(entry: bigint, nodeId: number): void;
  /** The database has lost that entry of the log, and as many requests as that, which had ended, are charged as held. */
  onLostLog?(entry: bigint, requests: number): void;
  /** A request has ended whose key is not in the database any more: nobody is charged. */
  onUncharged?(requestId: string): void;
  /** A process that has handed over has ended, and this many requests of it were charged as held. */
  onOrphans(requests: number): void;
  /** An internal error has ended the ledger. Nothing can be admitted any more. */
  onDeath(error: Error): void;
}

/** A running ledger, as the thread that started it sees it. */
export interface RunningLedger {
  readonly client: LedgerControl;
  readonly summary: LedgerSummary;
  /** Opens a port for another thread, which passes it to `connectLedger`. */
  connect(): MessagePort;
  /**
   * Opens a port for what an earlier process asks. These requests are its own; what is open of them,
   * and of those that it has admitted here, is charged as held when the port closes.
   */
  connectEarlier(requestIds: readonly string[], onTold: (told: Told) => void): EarlierPort;
  /**
   * Has the ledger end what it has begun and decide nothing more, until `keep` or `forward`. Rejects
   * with a UserError if it cannot be handed over; it decides on then.
   */
  handOver(): Promise<Handover>;
  /** Has the ledger decide again: nobody has taken over. */
  keep(): void;
  /**
   * The ledger of the next process decides from now on. What threads of this process ask is passed to
   * `ask`; undefined once a thread has ended.
   */
  forward(ask: (port: number, asked: Ask | undefined) => void): void;
  /** What the next process tells the thread at this port. */
  tell(port: number, told: Told): void;
  /** The next process has ended: fails all calls, and every later one. */
  abandon(reason: string): void;
  /** Runs the commands sent so far, then closes the file. Unsettled requests stay open in it. */
  close(): Promise<void>;
}

/** A port that stands for one of an earlier process. */
export interface EarlierPort {
  ask(asked: Ask): void;
  close(): void;
}

/** A ledger that has not opened the state. */
export interface WaitingLedger {
  /** Resolves when all is loaded that it takes to open it. Rejects with a UserError if that would take long. */
  readonly loaded: Promise<void>;
  /** Opens it, and goes on with what was handed over. Throws a UserError if it cannot be used. */
  open(handover?: Handover): Promise<RunningLedger>;
  /** In place of `open`, or after it where nothing was asked: it lets go of the state. */
  discard(): Promise<void>;
}

/** Where a ledger runs: in a thread of its own, or in the one that starts it. */
export type Place = 'thread' | 'here';

/** Starts the ledger in a thread of its own. Throws a UserError if the state cannot be used. */
export function startLedger(options: LedgerOptions, events: LedgerEvents): Promise<RunningLedger> {
  return prepareLedger(options, events, { place: 'thread', isAhead: false }).open();
}

/**
 * Prepares a ledger. `isAhead`: it is to load all that it can before it opens the state, so that this takes little time.
 */
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
    // Ends the client first: this end of the thread is not a failure.
    client.end('the ledger is closed');
    await thread.terminate();
  };
  const loaded = port.call('load');
  // It may fail before anything waits for it.
  loaded.catch(() => {});
  const die = dieOnce(client, events);
  const calls: Calls = {
    connect: (...given) => port.tell('connect', ...given),
    handOver: () => port.call('handOver'),
    keep: () => port.tell('keep'),
    forward: () => port.tell('forward'),
    tell: (...given) => port.tell('tell', ...given),
    // A thread that has died has nothing left to close.
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
        // Not at once: its last reply, that it has closed, arrives together with its end.
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
  // It may fail before anything waits for it.
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

/** The calls of the main thread to a ledger that has opened the state. */
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

/** Until a handover, no command is forwarded. */
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
      // Closes the ports of the other threads as well.
      void calls.close();
    },
    close: async () => {
      await calls.close();
      client.end('the ledger is closed');
    },
  };
}
