/** The gateway for a command: the one that runs on the state, or a new one in this process. */
import { chmodSync, mkdirSync } from 'node:fs';
import { isIP } from 'node:net';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { activeProviders } from '../../config/example.ts';
import { type LoadOptions, loadConfig } from '../../config/load.ts';
import { readKeyRefusal, readSnapshot } from '../../control/client.ts';
import { type KeyRefusal, type Snapshot, socketPathOf } from '../../control/protocol.ts';
import { originOf, ownAddress } from '../../core/address.ts';
import { UserError } from '../../core/errors.ts';
import { refuseForeign } from '../../core/folder-owner.ts';
import { program } from '../../core/program.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import { isLocked } from '../../state/open.ts';
import { notice } from '../output.ts';
import { withStateOf } from '../state.ts';
import { configOfKeys, withoutGatewayKeys } from './config-of-keys.ts';
import { type OuterRun, outerRun } from './outer.ts';

export interface LeashGateway {
  /** The config of the gateway's state. If another process serves, only its location is valid. */
  readonly config: Config;
  /** The gateway's address for clients on this machine. */
  readonly url: string;
  /** The key of the outer run, if the gateway belongs to one. */
  readonly outerId?: string;
  /** Errors of the gateway, if it runs in this process. */
  readonly errors: readonly string[];
  /** The present activity of keys. */
  activityOf(keyIds: readonly string[]): Promise<Activity>;
  /** Whether a provider refuses its key, as checked by the gateway itself, which may have another environment. */
  keyRefusal(provider: string): Promise<KeyRefusal | undefined>;
  /** Stops a gateway in this process. Requests in flight are aborted and settled. */
  stop(): Promise<void>;
}

export interface Activity {
  readonly inFlight: number;
  /** Refusals in the last 60 seconds; undefined if another process serves. */
  readonly refused: number | undefined;
}

/** Finds or starts the gateway. Throws a UserError if neither is possible. */
export async function gatewayFor(options: LoadOptions): Promise<LeashGateway> {
  const outer = outerRun(options);
  const config = outer?.config ?? loadConfig(options);
  // The command would run as that user, too.
  if (config.state.kind === 'file') refuseForeign(config.state.path);
  if (outer !== undefined) return gatewayOf(outer);
  const snapshot = await snapshotOf(config);
  if (snapshot !== undefined) return runningGateway(config, snapshot);
  return config.path === undefined ? startWithoutConfig(options.environment) : startOn(config);
}

/** Undefined if no gateway runs there. The gateway of a `run` does not serve other commands. */
function snapshotOf(config: Config): Promise<Snapshot | undefined> {
  return readSnapshot(socketPathOf(config), { maxLive: 0, maxEnded: 0 });
}

/** The gateway of the outer run, whether it runs in that process or not. */
async function gatewayOf({ config, url, keyId }: OuterRun): Promise<LeashGateway> {
  const snapshot = await snapshotOf(config);
  if (snapshot !== undefined) return { ...runningGateway(config, snapshot), outerId: keyId };
  return {
    config,
    url,
    outerId: keyId,
    errors: [],
    activityOf: (keyIds) =>
      withStateOf(config, async ({ requests }) => {
        const open = await Promise.all(keyIds.map((id) => requests.countOpen(id)));
        return { inFlight: open.reduce((sum, each) => sum + each, 0), refused: undefined };
      }),
    keyRefusal: async () => undefined,
    stop: async () => {},
  };
}

function runningGateway(config: Config, { address, tls, draining }: Snapshot): LeashGateway {
  if (draining)
    throw new UserError(`the gateway on ${config.statePath} is shutting down; start the command once it has`);
  return {
    config,
    url: urlOf(address, tls?.names),
    errors: [],
    activityOf: async (keyIds) =>
      activityIn(await readSnapshot(socketPathOf(config), { keyIds, maxLive: 0, maxEnded: 0 })),
    keyRefusal: (provider) => readKeyRefusal(socketPathOf(config), provider),
    stop: async () => {},
  };
}

/** The activity of the keys in a snapshot. */
function activityIn(snapshot: Snapshot | undefined): Activity & { readonly refused: number } {
  const keys = snapshot?.keys ?? [];
  return {
    inFlight: keys.reduce((sum, { open }) => sum + open, 0),
    refused: keys.reduce((sum, { refused }) => sum + refused, 0),
  };
}

/**
 * The local address of a gateway that listens on `address`. `names`: the names of its certificate, which clients check;
 * undefined for plain HTTP.
 */
export function urlOf(address: string, names?: readonly string[]): string {
  const own = ownAddress(address);
  const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(own) ?? [];
  if (names === undefined || names.includes(host)) return originOf(own, names !== undefined);
  const name = names.find((each) => isIP(each) === 0) ?? host;
  return originOf(`${name}:${port}`, true);
}

async function startOn(config: Config): Promise<LeashGateway> {
  for (const warning of config.warnings) notice(`warning: ${warning}`);
  // A gateway on a shared database needs a unique name. On a file, it has no name.
  const own = { ...config, node: `${config.node} run ${process.pid}` };
  try {
    return await start(own);
  } catch (error) {
    if (!(await isLocked(config.state))) throw error;
    throw new UserError(
      `another \`${program()} run\` serves ${config.statePath} until its command ends; ` +
        `to run several at once, start \`${program()} serve\` first`,
    );
  }
}

/** The number of simultaneous commands without a config, each with a separate state. */
const MOST_STATES = 16;

/**
 * Serves the providers whose keys are in the environment, on a state in the user's folder for program states. Simultaneous
 * commands have separate states, which later commands reuse.
 */
async function startWithoutConfig(environment: NodeJS.ProcessEnv): Promise<LeashGateway> {
  const variables = withoutGatewayKeys(environment);
  if (activeProviders(variables).every(({ variable }) => variable === undefined)) {
    notice(
      `note: no config, and no provider's key is set, so only the built-in mock answers; set OPENAI_API_KEY, ANTHROPIC_API_KEY or another one, or make a config with \`${program()} init\``,
    );
  }
  for (let number = 1; number <= MOST_STATES; number++) {
    const config = configOfKeys(variables, stateFolder(environment, number));
    try {
      return await start(config);
    } catch (error) {
      if (!(await isLocked(config.state))) throw error;
    }
  }
  throw new UserError(
    `${MOST_STATES} commands without a config run already; to run more, make a config with \`${program()} init\` and start \`${program()} serve\``,
  );
}

/** Creates the folder. Throws a UserError if that fails. */
function stateFolder({ XDG_STATE_HOME: named = '' }: NodeJS.ProcessEnv, number: number): string {
  const folder = isAbsolute(named) ? named : join(homedir(), '.local', 'state');
  const own = join(folder, 'inf-gw', number === 1 ? 'run' : `run-${number}`);
  try {
    mkdirSync(own, { recursive: true });
    chmodSync(own, 0o700);
    return own;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new UserError(
      `cannot make the folder ${own} (${code}), which keeps the journal where there is no config; ` +
        `set XDG_STATE_HOME to a folder that can be written, or make a config with \`${program()} init\``,
    );
  }
}

/** Starts a gateway in this process, on a free port of the loopback address. */
async function start(config: Config): Promise<LeashGateway> {
  // Loaded here: a command that uses a running gateway does not need it.
  const [{ startGateway }, { keptErrors }] = await Promise.all([
    import('../../gateway/gateway.ts'),
    import('../../observe/log.ts'),
  ]);
  // The addresses in the config belong to the installation's gateway, which may start any time.
  const own: Config = {
    ...config,
    listen: { host: '127.0.0.1', port: 0 },
    // No certificate covers a temporary local address.
    tls: undefined,
    threads: 1,
    health: undefined,
    metrics: undefined,
  };
  const kept = keptErrors();
  const onFatal = (error: Error) => kept.log.fatal(`internal error: a thread died: ${error.message}`);
  const gateway: Gateway = await startGateway(own, kept, { onFatal });
  if (gateway.summary.created)
    notice(`created ${config.state.kind === 'file' ? 'the state file' : 'the tables in'} ${config.statePath}`);
  const { address, port } = gateway.address;
  let afterStop: Activity | undefined;
  return {
    config,
    url: originOf({ host: address, port }, false),
    errors: kept.errors,
    activityOf: async (keyIds) => {
      if (afterStop !== undefined) return afterStop;
      const snapshot = await gateway.snapshot({ ...NOTHING_BUT_KEYS, keyIds });
      // Includes requests before admission.
      return { ...activityIn(snapshot), inFlight: await gateway.inFlight() };
    },
    keyRefusal: async (name) => {
      const provider = config.providers.find((each) => each.name === name);
      if (provider === undefined) return undefined;
      const { refusedKey } = await import('../../doctor/providers.ts');
      return refusedKey(provider, process.env);
    },
    stop: async () => {
      afterStop = { inFlight: await gateway.stop(0), refused: 0 };
    },
  };
}

const NOTHING_BUT_KEYS = { sinceS: 0, minutesSinceS: 0, endedSinceMs: 0, maxLive: 0, maxEnded: 0, firstByteSteps: 0 };
