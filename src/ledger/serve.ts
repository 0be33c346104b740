/** Opens the state and serves the ledger, in its own thread or in one that serves requests. */
import { DISK_BOUNDS, type DurationCounts, type LedgerTimes, recordDuration } from '../core/durations.ts';
import { UserError } from '../core/errors.ts';
import { Port } from '../core/port.ts';
import type { Engine, EngineEvents, Eventual } from './engine.ts';
import type { Handover } from './handover.ts';
import type { LedgerStart, LedgerSummary } from './ledger.ts';
import { type ClosableChannel, LedgerThread } from './ledger-thread.ts';
import type { LedgerCalls, MainCalls } from './protocol.ts';
import { RemoteClient } from './remote-client.ts';

/** Imports only the modules for the configured kind of state. */
async function load({ options, isAhead }: LedgerStart): Promise<(events: EngineEvents) => Promise<Engine>> {
  const { state } = options;
  if (state.kind === 'file') {
    const { loadLocalEngine, openLocalEngine } = await import('./local/local-engine.ts');
    if (isAhead) loadLocalEngine(state.path);
    return async () => openLocalEngine(state.path, options);
  }
  const { openSharedEngine } = await import('./shared/shared-engine.ts');
  return (events) => openSharedEngine(state.address, state.node, options, events);
}

/** Reports of the ledger to the main thread, outside of answers. */
export type LedgerReports = Omit<MainCalls, 'told'>;

/** A ledger before it opens the state. */
export class LedgerOpening {
  readonly #start: LedgerStart;
  readonly #main: LedgerReports;
  readonly #die: (error: Error) => void;
  #loading: ReturnType<typeof load> | undefined;
  #thread: LedgerThread | undefined;

  /** `die` receives an internal error, after which the ledger decides no command. */
  constructor(start: LedgerStart, main: LedgerReports, die: (error: Error) => void) {
    this.#start = start;
    this.#main = main;
    this.#die = die;
  }

  async load(): Promise<void> {
    await this.#load();
  }

  /** Opens the state. Decisions begin when the thread is started. Throws a UserError if the state is unusable. */
  async open(
    handover: Handover | undefined,
  ): Promise<{ readonly thread: LedgerThread; readonly summary: LedgerSummary }> {
    let engine: Engine | undefined;
    try {
      const openEngine = await this.#load();
      engine = await openEngine({
        onFault: (fault) => this.#thread?.noticeFault(fault),
        onStops: this.#main.stops,
        onDeaths: this.#main.deaths,
        onDifference: this.#main.difference,
        onNonsense: this.#main.nonsense,
        onLostLog: this.#main.lostLog,
        onUncharged: this.#main.uncharged,
      });
      measure(engine, this.#start.options.times);
      const summary = await (handover === undefined ? engine.recover() : engine.adopt(handover));
      const thread = new LedgerThread(this.#main, engine, this.#die, handover?.commits);
      this.#thread = thread;
      return { thread, summary };
    } catch (error) {
      const fault = engine?.faultOf(error);
      throw fault === undefined ? error : new UserError(fault.message);
    }
  }

  /** Closes the state if it is open. */
  close(): void {
    void this.#thread?.close();
  }

  #load(): ReturnType<typeof load> {
    this.#loading ??= load(this.#start);
    return this.#loading;
  }
}

/** Serves the ledger to the thread that started this one. */
export function serveLedger(parent: ClosableChannel, start: LedgerStart, die: (error: Error) => void): void {
  const port = new Port<LedgerCalls, MainCalls>(parent, 'the main thread');
  const opening = new LedgerOpening(start, reportsTo(port), die);
  const open = async (handover: Handover | undefined): Promise<LedgerSummary> => {
    const { thread, summary } = await opening.open(handover);
    serveThread(thread, port, parent);
    return summary;
  };
  port.serve({ load: () => opening.load(), open });
}

/** Starts a ledger for the main thread at this port. */
export function serveThread(thread: LedgerThread, port: Port<LedgerCalls, MainCalls>, parent: ClosableChannel): void {
  const main = new RemoteClient(port);
  port.serve({
    ask: (...asked) => thread.ask(asked, main),
    connect: (channel, inherited) => thread.connect(channel, inherited),
    handOver: () => thread.handOver(),
    keep: () => thread.keep(),
    forward: () => thread.forward(),
    tell: (number, told) => thread.tell(number, told),
    close: () => thread.close(),
  });
  thread.start(main, parent);
}

export function reportsTo(port: Port<LedgerCalls, MainCalls>): LedgerReports {
  return {
    stops: (...given) => port.tell('stops', ...given),
    deaths: (...given) => port.tell('deaths', ...given),
    difference: (...given) => port.tell('difference', ...given),
    nonsense: (...given) => port.tell('nonsense', ...given),
    lostLog: (...given) => port.tell('lostLog', ...given),
    uncharged: (...given) => port.tell('uncharged', ...given),
    orphans: (...given) => port.tell('orphans', ...given),
    forwarded: (...given) => port.tell('forwarded', ...given),
  };
}

/** Wraps an engine to measure its batches and flushes for metrics, if `times` is given. */
function measure(engine: Engine, times: LedgerTimes | undefined): void {
  if (times === undefined) return;
  Object.assign(engine, {
    process: timed(times.batch, engine.process.bind(engine)),
    flush: timed(times.sync, engine.flush.bind(engine)),
  });
}

/** Measures failed calls as well. */
function timed<Arguments extends unknown[], Result>(
  counts: DurationCounts,
  run: (...args: Arguments) => Eventual<Result>,
): (...args: Arguments) => Promise<Result> {
  return async (...args) => {
    const startedAtMs = performance.now();
    try {
      return await run(...args);
    } finally {
      recordDuration(counts, DISK_BOUNDS, performance.now() - startedAtMs);
    }
  };
}
