/**
 * The counts of tokens that are in flight at this gateway. They take slots like requests, but the
 * database does not know of them: they cost nothing, and a gateway that dies leaves none behind.
 */
import type { Batch } from '../../state/postgres/batch.ts';
import type { Decided } from '../../state/postgres/decided.ts';
import type { Identity, LedgerSettings, ListingAdmission } from '../ledger.ts';
import { type Answer, type Command, isCountBegun } from '../protocol.ts';
import { answersOf } from './answers.ts';
import { type KeyLookup, place } from './batch.ts';

export class Counts {
  /** The hash of the key of each, by its id. */
  readonly #keyHashes = new Map<string, string>();

  /**
   * Those commands that are counts without a slot, with their answers. The slots are those that the
   * requests of all gateways leave, and the counts of this one. Takes nothing in the database.
   */
  async refused(
    commands: readonly Command[],
    lookup: KeyLookup,
    settings: LedgerSettings,
    ask: (batch: Batch) => Promise<Decided>,
  ): Promise<ReadonlyMap<Command, ListingAdmission>> {
    const refused = new Map<Command, ListingAdmission>();
    const counts = commands.filter((each) => each.kind === 'admit_listing').filter(({ countId }) => countId);
    const placed = place(
      counts.map(({ keyHash }) => ({ kind: 'identify', keyHash })),
      lookup,
    );
    if (placed.batch.keys.length === 0) return refused;
    const identities = answersOf(placed, await ask(placed.batch), settings) as Identity[];
    const begun = [...this.#keyHashes.values()];
    for (const [index, count] of counts.entries()) {
      const identity = identities[index];
      if (identity?.kind !== 'enabled') continue;
      const { keyId, concurrency, freeSlots, figures } = identity;
      const own = begun.filter((hash) => hash === count.keyHash).length;
      if (own < freeSlots) begun.push(count.keyHash);
      else refused.set(count, { kind: 'busy', keyId, limit: concurrency, figures });
    }
    return refused;
  }

  /** A command was decided. */
  follow(command: Command, answer: Answer): void {
    if (isCountBegun(command, answer)) this.#keyHashes.set(command.countId, command.keyHash);
    else if (command.kind === 'end_count') this.#keyHashes.delete(command.countId);
  }
}
