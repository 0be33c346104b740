/** The alerts thread: reads the state and delivers alerts, so that no request waits for either. */

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { UserError } from '../core/errors.ts';
import { Port } from '../core/port.ts';
import { program } from '../core/program.ts';
import { openState } from '../state/open.ts';
import type { OpenState } from '../state/state.ts';
import type { CourierEvents } from './courier.ts';
import type { Observation } from './observation.ts';
import type { AlertsCalls, AlertsStart, MainCalls } from './protocol.ts';
import { Watcher, type WatcherEvents, type WatcherOptions } from './watcher.ts';

const { state: location, durability, options, hasPredecessor } = workerData as AlertsStart;

const port = new Port<AlertsCalls, MainCalls>(parentPort as MessagePort, 'the main thread');

const onFailure: CourierEvents['onFailure'] = ({ name }, { id, kind }, { text }, result) => {
  const next = result === 'retry' ? 'it is tried again' : 'it is not tried again';
  port.tell('log', 'warn', `alert ${id} (${kind}) not delivered to ${name}: ${text}; ${next}`);
};
const FULL = `so many alerts wait for their delivery that no more are added; \`${program()} alerts test\` shows which target fails`;
const events: WatcherEvents = {
  onFailure,
  onFull: () => port.tell('log', 'error', FULL),
};

/** Undefined until the state could be opened. */
let state: OpenState | undefined;
let watcher: Watcher | undefined;
let current = options;
/** The last error, so that repetitions of it are not logged. */
let fault: string | undefined;
/** Completion of the last queued call. */
let turn: Promise<void> = Promise.resolve();

async function open(): Promise<OpenState> {
  const opened = await openState(location, durability);
  // Only after a crash: releases claims of the dead process, whose deliveries are then retried at once.
  if (!hasPredecessor) await opened.run(() => opened.alerts.release(current.gateway));
  return opened;
}

async function look(observation: Observation): Promise<void> {
  try {
    state ??= await open();
    watcher ??= new Watcher(state, current, events);
    const watching = watcher;
    await state.run(() => watching.look(observation));
    fault = undefined;
  } catch (error) {
    const message = error instanceof UserError ? error.lines.join('; ') : String(error);
    if (message !== fault) port.tell('log', 'error', `alerts: ${message}`);
    fault = message;
  }
}

async function configure(changed: WatcherOptions): Promise<void> {
  current = changed;
  await watcher?.close();
  watcher = undefined;
}

async function close(): Promise<void> {
  await watcher?.close();
  await state?.close();
}

/** Queues work behind all earlier calls. */
function next(work: () => Promise<void>): Promise<void> {
  turn = turn.then(work);
  return turn;
}

port.serve({
  look: (observation) => next(() => look(observation)),
  configure: (changed) => void next(() => configure(changed)),
  close: () => next(close),
});
