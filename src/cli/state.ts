/** What the commands work on: the config, and the state file through the same operations as the gateway. */

import type { Command } from 'commander';
import { Catalog } from '../catalog/catalog.ts';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { Account } from '../state/sqlite/account.ts';
import { explained, openState } from '../state/sqlite/database.ts';
import { KeyStore } from '../state/sqlite/keys.ts';
import { RequestStore } from '../state/sqlite/requests.ts';
import { UsageReader } from '../state/sqlite/usage.ts';
import { notice } from './output.ts';

/** The options that every command takes. */
export interface GlobalOptions {
  readonly config?: string;
  readonly json?: true;
}

export function globalOptions(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>();
}

export function configOf(command: Command): Config {
  const { config } = globalOptions(command);
  return loadConfig({ path: config, environment: process.env, directory: process.cwd() });
}

export interface State {
  readonly config: Config;
  readonly catalog: Catalog;
  readonly keys: KeyStore;
  readonly account: Account;
  readonly usage: UsageReader;
  readonly requests: RequestStore;
  readonly nowMs: number;
}

/** Runs `work` on the state file, then closes it. Storage errors become UserErrors that say what to do. */
export function withState<T>(command: Command, work: (state: State) => T): T {
  const config = configOf(command);
  const { database, created } = openState(config.statePath, config.durability);
  try {
    if (created) notice(`created the state file ${config.statePath}`);
    return work({
      config,
      catalog: new Catalog(config.providers),
      keys: new KeyStore(database),
      account: new Account(database),
      usage: new UsageReader(database),
      requests: new RequestStore(database),
      nowMs: Date.now(),
    });
  } catch (error) {
    throw explained(error, config.statePath);
  } finally {
    database.close();
  }
}
