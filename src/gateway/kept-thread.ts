/** Thread that stores the owners of hosts' stored responses, and child keys, so that no request waits for a lock of the state. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { KeptId, KeptResponse } from '../core/kept-responses.ts';
import type { Limits } from '../core/limits.ts';
import { Port } from '../core/port.ts';
import type { StateLocation } from '../core/state-location.ts';
import type { ChildAnswer, ChildQuestion, ChildRefusal } from '../proxy/child-keys.ts';
import { openState } from '../state/open.ts';
import type { OpenState } from '../state/state.ts';
import { answerChild, checkChild } from './child-keys.ts';

export interface KeptCalls {
  find(keyId: string, ids: readonly string[]): Promise<readonly KeptId[]>;
  add(response: KeptResponse): Promise<void>;
  drop(keyId: string, responseId: string): Promise<void>;
  checkChild(parentId: string, question: ChildQuestion, tier: Limits): Promise<ChildRefusal | undefined>;
  answerChild(parentId: string, question: ChildQuestion, tier: Limits): Promise<ChildAnswer>;
}

const port = new Port<KeptCalls, object>(parentPort as MessagePort, 'the main thread');

/** Undefined until it could be opened. */
let state: Promise<OpenState> | undefined;

async function withState<Result>(work: (state: OpenState) => Promise<Result>): Promise<Result> {
  // Rows lost in a power failure cause a 404; that does not justify an fsync.
  state ??= openState(workerData as StateLocation, 'crash');
  let opened: OpenState;
  try {
    opened = await state;
  } catch (error) {
    state = undefined;
    throw error;
  }
  return opened.run(() => work(opened));
}

port.serve({
  find: (keyId, ids) => withState(({ kept }) => kept.find(keyId, ids)),
  add: (response) => withState(({ kept }) => kept.add(response)),
  drop: (keyId, responseId) => withState(({ kept }) => kept.drop(keyId, responseId)),
  checkChild: (parentId, question, tier) => withState((opened) => checkChild(opened, parentId, question, tier)),
  answerChild: (parentId, question, tier) => withState((opened) => answerChild(opened, parentId, question, tier)),
});
