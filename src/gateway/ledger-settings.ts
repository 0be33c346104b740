/** What the ledger needs of the config. */
import type { Config } from '../config/config.ts';
import { formatAddress } from '../core/address.ts';
import { VERSION } from '../core/program.ts';
import type { LedgerSettings, LedgerState } from '../ledger/ledger.ts';

export function ledgerState({ state, node, listen }: Config): LedgerState {
  if (state.kind === 'file') return state;
  return { ...state, node: { name: node, version: VERSION, address: formatAddress(listen) } };
}

export function ledgerSettings(config: Config): LedgerSettings {
  const { creditEnforced, journalRetentionMs, tier } = config;
  return { creditEnforced, journalRetentionMs, ...tier };
}
