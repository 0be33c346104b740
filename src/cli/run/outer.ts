/** The outer run of this one, as described by a variable of its command. */
import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { type LoadOptions, loadConfig } from '../../config/load.ts';
import { UserError } from '../../core/errors.ts';
import { program } from '../../core/program.ts';
import { configOfKeys, withoutGatewayKeys } from './config-of-keys.ts';

const VARIABLE = 'INF_GW_RUN';

/** An outer run. */
export interface OuterRun {
  readonly keyId: string;
  /** The address of its gateway for clients, without a path. */
  readonly url: string;
  /** The config of its gateway. */
  readonly config: Config;
}

/** The variable for inner runs: the id of the key, and the config of the gateway, or without one the folder of its state. */
export function runVariable(keyId: string, { path, statePath }: Config): NodeJS.ProcessEnv {
  return { [VARIABLE]: `${keyId}:${path ?? dirname(statePath)}` };
}

/** Stands for the location of a state that is unknown here. */
const OVER_HTTP = 'http:';

/** The variable for inner runs of a run whose key was created over HTTP. */
export function variableOverHttp(keyId: string): NodeJS.ProcessEnv {
  return { [VARIABLE]: `${keyId}:${OVER_HTTP}` };
}

/** Whether the outer run's config or state is on another machine, or unreadable here. */
export function isOutOfReach({ [VARIABLE]: value = '' }: NodeJS.ProcessEnv): boolean {
  const { place } = partsOf(value) ?? {};
  if (place === undefined || place === OVER_HTTP) return false;
  try {
    accessSync(place, constants.R_OK);
    return false;
  } catch {
    return true;
  }
}

function partsOf(value: string): { readonly keyId: string; readonly place: string } | undefined {
  const [, keyId, place] = /^(key_\w+):(.+)$/s.exec(value) ?? [];
  return keyId === undefined || place === undefined ? undefined : { keyId, place };
}

/** Undefined without an outer run. Throws a UserError if another gateway is requested, or if the variables are invalid. */
export function outerRun({ path: named, environment, directory }: LoadOptions): OuterRun | undefined {
  const { [VARIABLE]: value = '', INF_GW_URL: url } = environment;
  if (value === '') return undefined;
  const parts = partsOf(value);
  if (parts === undefined || url === undefined || !URL.canParse(url)) {
    throw new UserError(
      `${VARIABLE} and INF_GW_URL are not as \`${program()} run\` sets them for its command; unset them to run without a run around this one`,
    );
  }
  const { keyId, place } = parts;
  if (place === OVER_HTTP) {
    throw new UserError(
      `the key of the run around this one was made by another key, and makes none itself; run the command without \`${program()} run\``,
    );
  }
  if (named !== undefined && resolve(directory, named) !== place) {
    throw new UserError('this is inside another run, whose leash only holds at its own gateway: leave --config out');
  }
  return { keyId, url, config: configAt(place, environment, directory) };
}

function configAt(place: string, environment: NodeJS.ProcessEnv, directory: string): Config {
  const isFolder = statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder) return configOfKeys(withoutGatewayKeys(environment), place);
  return loadConfig({ path: place, environment, directory });
}
