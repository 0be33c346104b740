/** Opens the state and serves the ledger, in a thread of its own or in one that serves requests. */
import { DISK_BOUNDS, type DurationCounts, type LedgerTimes, recordDuration } from '../core/durations.ts';
import { UserError } from '../core/errors.ts';
import { Port } from '../core/port.ts';
import type { Engine, EngineEvents, Eventual } from './engine.ts';
import type { Handover } from './handover.ts';
import type { LedgerStart, LedgerSummary } from './ledger.ts';
import { type ClosableChannel, LedgerThread } from './ledger-thread.ts';
import type { LedgerCalls, MainCalls } from './protocol.ts';

/** Loads what opens the state, and no more than that needs. */
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

/** `die` gets an internal error; nothing is decided after it. */
export function serveLedger(parent: ClosableChannel, start: LedgerStart, die: (error: Error) => void): void {
  const port = new Port<LedgerCalls, MainCalls>(parent, 'the main thread');
  let thread: LedgerThread | undefined;
  // In a thread of its own it is gone by then.
  parent.on('close', () => void thread?.close());
  let loading: ReturnType<typeof load> | undefined;
  const loaded = () => {
    loading ??= load(start);
    return loading;
  };
  const open = async (handover: Handover | undefined): Promise<LedgerSummary> => {
    let engine: Engine | undefined;
    try {
      const openEngine = await loaded();
      engine = await openEngine({
        onFault: (fault) => thread?.noticeFault(fault),
        onStops: (requestIds) => port.tell('stops', requestIds),
        onDeaths: (names, requests) => port.tell('deaths', names, requests),
        onDifference: (entry) => port.tell('difference', entry),
        onNonsense: (entry, nodeId) => port.tell('nonsense', entry, nodeId),
        onLostLog: (entry, requests) => port.tell('lostLog', entry, requests),
        onUncharged: (requestId) => port.tell('uncharged', requestId),
      });
      measure(engine, start.options.times);
      const summary = await (handover === undefined ? engine.recover() : engine.adopt(handover));
      thread = new LedgerThread(port, engine, die, handover?.commits);
      thread.start(parent);
      return summary;
    } catch (error) {
      const fault = engine?.faultOf(error);
      throw fault === undefined ? error : new UserError(fault.message);
    }
  };
  port.serve({ load: async () => void (await loaded()), open });
}

/** Has an engine measure how long its batches and flushes take, for metrics. Does nothing if there is nowhere to count. */
function measure(engine: Engine, times: LedgerTimes | undefined): void {
  if (times === undefined) return;
  Object.assign(engine, {
    process: timed(times.batch, engine.process.bind(engine)),
    flush: timed(times.sync, engine.flush.bind(engine)),
  });
}

/** What fails takes its time as well. */
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
