/** Opens the config and the state that commands use. */
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { Catalog } from '../catalog/catalog.ts';
import type { Config } from '../config/config.ts';
import { withEnvFile } from '../config/env-file.ts';
import { type LoadOptions, loadConfig } from '../config/load.ts';
import { UserError } from '../core/errors.ts';
import { program } from '../core/program.ts';
import { CREATORS, emptyState, isMissingFile, openState } from '../state/open.ts';
import type { OpenState } from '../state/state.ts';
import { notice } from './output.ts';

export interface GlobalOptions {
  readonly config?: string;
  readonly json?: true;
}

export function globalOptions(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>();
}

/** The config of the installation. Throws a UserError without one. */
export function configOf(command: Command): Config {
  return installed(configOrDefaults(command));
}

/**
 * The config file, or the defaults if a state exists. Otherwise throws a UserError: no command creates an installation by
 * accident.
 */
export function installed(config: Config): Config {
  if (config.path !== undefined || !isMissingFile(config.state)) return config;
  throw new UserError(
    `no config and no state file: neither --config nor $INF_GW_CONFIG is set, and there is no ${join(process.cwd(), 'config.yaml')} ` +
      `and no ${config.statePath}; change to the folder of the gateway, name its config with --config, or make one with \`${program()} init\``,
  );
}

/** The config, or the defaults without a config file. */
export function configOrDefaults(command: Command): Config {
  return loadConfig(loadOptions(command));
}

/** The path of the config, and the folder that its relative paths refer to. */
export function loadOptions(command: Command): LoadOptions {
  return { path: globalOptions(command).config, environment: process.env, directory: process.cwd() };
}

/** The variables that references in the config resolve to. */
export function variablesOf({ path }: Config): NodeJS.ProcessEnv {
  return path === undefined ? process.env : withEnvFile(process.env, dirname(path)).environment;
}

/** The config, the catalog and the open state. */
export interface State
  extends Pick<
    OpenState,
    'keys' | 'groups' | 'levels' | 'account' | 'usage' | 'requests' | 'standings' | 'nodes' | 'kept'
  > {
  readonly config: Config;
  readonly catalog: Catalog;
  readonly nowMs: number;
}

/**
 * Runs `work` on the state, then closes it. Without a state file, `work` sees an empty state that is discarded, unless it
 * `creates` the file. Storage errors become UserErrors.
 */
export async function withState<T>(
  command: Command,
  work: (state: State) => Promise<T>,
  { creates = false } = {},
): Promise<T> {
  return withStateOf(configOf(command), work, { creates });
}

/** As `withState`, with a given config. */
export async function withStateOf<T>(
  config: Config,
  work: (state: State) => Promise<T>,
  { creates = false } = {},
): Promise<T> {
  const isMissing = !creates && isMissingFile(config.state);
  const state = await (isMissing ? emptyState() : openState(config.state, config.durability));
  try {
    if (isMissing) notice(`note: there is no state file at ${config.statePath} yet; ${CREATORS}`);
    if (state.created !== undefined) notice(`created ${state.created}`);
    const { keys, groups, levels, account, usage, requests, standings, nodes, kept } = state;
    const catalog = new Catalog(config.providers, config.aliases);
    return await state.run(() =>
      work({
        config,
        catalog,
        keys,
        groups,
        levels,
        account,
        usage,
        requests,
        standings,
        nodes,
        kept,
        nowMs: Date.now(),
      }),
    );
  } finally {
    await state.close();
  }
}
