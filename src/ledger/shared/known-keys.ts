/** Caches the ids of keys by hash. The mapping never changes, so a gateway queries it once per key. */
import type { SharedLedgerStore } from '../../state/postgres/ledger-store.ts';
import type { Command } from '../protocol.ts';

/** Maximum cache size. The cache is cleared when it exceeds this. */
const MAX_KNOWN_KEYS = 100_000;

export class KnownKeys {
  readonly #store: Pick<SharedLedgerStore, 'keysByHash'>;
  readonly #ids = new Map<string, string>();

  constructor(store: Pick<SharedLedgerStore, 'keysByHash'>) {
    this.#store = store;
  }

  /** The id of the key of a command; undefined for an unknown key. */
  of(command: Command): string | undefined {
    if (command.kind === 'forecast') return command.question.keyId;
    const hash = hashOf(command);
    return hash === undefined ? undefined : this.#ids.get(hash);
  }

  async learn(commands: readonly Command[]): Promise<void> {
    const hashes = new Set(commands.map(hashOf).filter((hash) => hash !== undefined && !this.#ids.has(hash)));
    if (hashes.size === 0) return;
    if (this.#ids.size > MAX_KNOWN_KEYS) this.#ids.clear();
    for (const [hash, id] of await this.#store.keysByHash([...hashes] as string[])) this.#ids.set(hash, id);
  }

  /** Looks up the keys again: a restored database may lack keys created after the backup. */
  async learnAgain(commands: readonly Command[]): Promise<void> {
    for (const command of commands) this.#ids.delete(hashOf(command) ?? '');
    await this.learn(commands);
  }
}

function hashOf(command: Command): string | undefined {
  if (command.kind === 'admit') return command.request.keyHash;
  return command.kind === 'identify' || command.kind === 'admit_listing' ? command.keyHash : undefined;
}
