/** The entry point of the ledger thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { UserError } from '../core/errors.ts';
import type { Engine, EngineEvents } from './engine.ts';
import type { Handover } from './handover.ts';
import type { LedgerStart } from './ledger.ts';
import { LedgerThread, send } from './ledger-thread.ts';
import { measure } from './measure.ts';
import type { ToLedger } from './protocol.ts';

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

/** Waits for the word to open the state. */
function opened(port: MessagePort): Promise<Handover | undefined> {
  return new Promise((resolve) => {
    port.once('message', (message: ToLedger) => resolve(message.kind === 'open' ? message.handover : undefined));
  });
}

async function main(port: MessagePort, start: LedgerStart): Promise<void> {
  let thread: LedgerThread | undefined;
  let engine: Engine | undefined;
  try {
    const open = await load(start);
    send(port, { kind: 'loaded' });
    const handover = await opened(port);
    engine = await open({
      onFault: (fault) => thread?.noticeFault(fault),
      onStops: (requestIds) => send(port, { kind: 'stops', requestIds }),
      onDeaths: (names, requests) => send(port, { kind: 'deaths', names, requests }),
    });
    measure(engine, start.options.times);
    const summary = await (handover === undefined ? engine.recover() : engine.adopt(handover));
    thread = new LedgerThread(port, engine, handover?.commits);
    thread.start(summary);
  } catch (error) {
    const fault = engine?.faultOf(error);
    if (fault !== undefined) return send(port, { kind: 'failed', lines: [fault.message] });
    if (!(error instanceof UserError)) throw error;
    send(port, { kind: 'failed', lines: error.lines });
  }
}

if (parentPort !== null) void main(parentPort, workerData as LedgerStart);
