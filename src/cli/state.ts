/** What the commands work on: the config and the state file. */

import type { Command } from 'commander';
import { Catalog } from '../catalog/catalog.ts';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { type OpenState, openState } from '../state/sqlite/open-state.ts';
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

/** What a command works with: the config, the models of its providers, and the state file. */
export interface State extends Pick<OpenState, 'keys' | 'account' | 'usage' | 'requests'> {
  readonly config: Config;
  readonly catalog: Catalog;
  readonly nowMs: number;
}

/** Runs `work` on the state file, then closes it. Storage errors become UserErrors. */
export function withState<T>(command: Command, work: (state: State) => T): T {
  const config = configOf(command);
  const state = openState(config.statePath, config.durability);
  try {
    if (state.created) notice(`created the state file ${config.statePath}`);
    const { keys, account, usage, requests } = state;
    const catalog = new Catalog(config.providers);
    return state.run(() => work({ config, catalog, keys, account, usage, requests, nowMs: Date.now() }));
  } finally {
    state.close();
  }
}
