/** What a ledger of the benchmark is started with. */
import { parsePostgresAddress } from '../../src/core/postgres-address.ts';
import type { LedgerOptions } from '../../src/ledger/ledger.ts';

const LIMITS = { rpm: 1_000_000_000, tpm: 1_000_000_000_000, concurrency: 1_000_000, modelsRpm: 6_000 };

/** Of the ledger of a gateway on a database. */
export function optionsOf(url: string, name: string) {
  const parsed = parsePostgresAddress(url, '/');
  if (parsed.kind === 'problem') throw new Error(parsed.problem);
  const node = { name, version: 'bench', address: 'none' };
  return {
    state: { kind: 'postgres', address: parsed.address, node },
    durability: 'full',
    creditEnforced: true,
    journalRetentionMs: undefined,
    ...LIMITS,
  } as const satisfies LedgerOptions;
}
