/** How a gateway begins to follow the log: it reads all that the others have in memory, as of one entry. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Decided } from '../../state/postgres/batch.ts';
import type { LogReader } from '../../state/postgres/ledger-store.ts';
import type { Rebuilt, Unwritten } from '../../state/postgres/log.ts';
import { decode, type EntryJson } from './entry.ts';
import { Replica, withDecided } from './replica.ts';

/** The pause between two looks whether a gateway has written what it has decided. It does so at once, or with its next batch. */
const LOOK_MS = 10;
/** What a gateway has not written by then, another has, if one lives. */
const OTHERS_WRITE_MS = 3_000;

/** `nodeId`: this gateway, undefined before it takes part; and what it has decided on its last entry and not written. */
export async function rebuild(log: LogReader, nodeId?: number, owed?: Decided): Promise<Replica> {
  for (;;) {
    const rebuilt = await log.rebuild();
    const replica = await replicaOf(log, rebuilt, nodeId, owed);
    if (replica !== undefined) return replica;
  }
}

/** Undefined if it has to be read again: a gateway was gone, and what it had decided is written now. */
async function replicaOf(
  log: LogReader,
  rebuilt: Rebuilt,
  nodeId?: number,
  owed?: Decided,
): Promise<Replica | undefined> {
  let complete = rebuilt;
  const left: Unwritten[] = [];
  let own: Decided | undefined;
  for (const entry of rebuilt.unwritten) {
    if (entry.nodeId === nodeId && entry.seq === owed?.seq) own = owed;
    const decided = own?.seq === entry.seq ? own.decided : await decidedOn(log, entry, rebuilt.hasOthers);
    if (decided === undefined) left.push(entry);
    else complete = withDecided(complete, entry, decided);
  }
  const replica = new Replica(complete);
  if (left.length === 0) {
    if (own !== undefined) replica.owe(nodeId as number, own);
    return replica;
  }
  // Nobody lives who has decided it: it is decided now, in the order of the log.
  for (const { seq, nodeId: other, commands } of left) {
    const decided = replica.complete(other, seq, decode(commands as EntryJson));
    await log.writeFor(other, { ...decided, digest: '' });
  }
  return undefined;
}

/** Waits for what the gateway, or another one that lives, writes. Undefined if nobody does. */
async function decidedOn(log: LogReader, entry: Unwritten, hasOthers: boolean): Promise<string | undefined> {
  const untilMs = performance.now() + OTHERS_WRITE_MS;
  for (;;) {
    const decided = await log.decidedOn(entry.nodeId, entry.seq);
    if (decided !== undefined || !hasOthers || performance.now() > untilMs) return decided;
    await pause(LOOK_MS);
  }
}

/** Writes what processes that are gone have decided, so that a new one of their name can take part. */
export async function completeOthers(log: LogReader): Promise<void> {
  await rebuild(log);
}
