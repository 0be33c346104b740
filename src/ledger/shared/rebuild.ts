/** Builds a replica from the database, as of one log entry. */
import type { LogReader } from '../../state/postgres/ledger-store.ts';
import { Facts, type FactsRow } from './facts.ts';
import { Replica } from './replica.ts';

export async function rebuild(log: LogReader): Promise<Replica> {
  const facts = new Facts(0n);
  return new Replica(await log.rebuild((rows) => facts.take(rows as FactsRow[])), facts);
}

/** Writes the pending effects of all gateways, so that a new process can replace a dead gateway of the same name. */
export async function completeOthers(log: LogReader): Promise<void> {
  const replica = await rebuild(log);
  for (const [nodeId, decided] of replica.unwritten()) {
    await log.writeFor(nodeId, decided, replica.place.seq, replica.recordFor(undefined));
  }
}
