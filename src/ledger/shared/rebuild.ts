/** How a gateway begins to follow the log: it reads all that the others have in memory, as of one entry. */
import type { LogReader } from '../../state/postgres/ledger-store.ts';
import { Facts, type FactsRow } from './facts.ts';
import { Replica } from './replica.ts';

export async function rebuild(log: LogReader): Promise<Replica> {
  const facts = new Facts(0n);
  return new Replica(await log.rebuild((rows) => facts.take(rows as FactsRow[])), facts);
}

/** Writes what gateways have decided and not written, so that a new process of the name of one that is gone can take part. */
export async function completeOthers(log: LogReader): Promise<void> {
  const replica = await rebuild(log);
  for (const [nodeId, decided] of replica.unwritten()) {
    await log.writeFor(nodeId, decided, replica.place.seq, replica.recordFor(undefined));
  }
}
