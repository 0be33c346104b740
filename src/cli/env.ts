/** `env`: prints the variables that point clients to the gateway, as lines for a shell. */
import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import type { Config } from '../config/config.ts';
import { readModels, readSnapshot } from '../control/client.ts';
import { socketPathOf } from '../control/protocol.ts';
import { formatAddress } from '../core/address.ts';
import { isWellFormedKey } from '../core/api-key.ts';
import { UserError } from '../core/errors.ts';
import { program } from '../core/program.ts';
import { modelRows } from '../gateway/served.ts';
import { accessVariables, NOT_BESIDE_ALL } from './clients/access.ts';
import { chooseModels } from './clients/choice.ts';
import { CLIENTS, type Client, clientOf, contextNote, KEY_VARIABLE, type Setup } from './clients/clients.ts';
import { configuredOfferNamed, configuredOffers } from './clients/offers.ts';
import { KEY_OF_SHELL, SHELLS, type Shell, shellLines } from './clients/shells.ts';
import { findKey } from './key-view.ts';
import { notice, printJson } from './output.ts';
import { urlOf } from './run/gateway.ts';
import { configOf, globalOptions, withStateOf } from './state.ts';

interface EnvOptions {
  readonly key?: string;
  readonly client?: string;
  readonly model?: string;
  readonly shell?: Shell;
}

export function registerEnv(program: Command): void {
  program
    .command('env')
    .description('print the variables that point clients at the gateway, for a shell to read')
    .option('--key <key>', `the key itself; or its name or id, with the key itself in $${KEY_VARIABLE}`)
    .addOption(
      new Option('--client <client>', 'what this client needs, and a model for it').choices(
        CLIENTS.map(({ name }) => name),
      ),
    )
    .option('--model <model>', 'the model for the client (default: chosen from what the key can call)')
    .addOption(new Option('--shell <shell>', 'the shell to print for (default: that of $SHELL)').choices(SHELLS))
    .addHelpText(
      'after',
      `
Without a whole key, the lines use $${KEY_VARIABLE}: set it first.

Examples:
  eval "$(inf-gw env)"
  eval "$(inf-gw env --client claude --key my-app)"
  inf-gw env --client codex --shell fish | source`,
    )
    .action((options: EnvOptions, command: Command) => env(options, command));
}

async function env(options: EnvOptions, command: Command): Promise<void> {
  const client = options.client === undefined ? undefined : clientOf(options.client);
  if (client === undefined && options.model !== undefined)
    return command.error('error: --model needs a client; say which with --client');
  const config = configOf(command);
  const setup = await setUp(client, options, config);
  const variables = client === undefined ? accessVariables(setup) : client.variables(setup);
  const words = client?.words?.(setup) ?? [];
  const file = client?.file?.(setup);
  if (globalOptions(command).json) {
    const inFile = file === undefined ? null : { path: file.own, text: file.text };
    return printJson({ client: client?.name ?? null, variables, words, file: inFile });
  }
  const all = { [KEY_VARIABLE]: setup.key, ...variables };
  const withKey = Object.entries(all).filter(([name, value]) => name !== KEY_VARIABLE || value !== KEY_OF_SHELL);
  const own = Object.fromEntries(
    withKey.map(([name, value]) => [name, name !== KEY_VARIABLE && value === setup.key ? KEY_OF_SHELL : value]),
  );
  const without = client === undefined ? NOT_BESIDE_ALL : (client.without ?? []);
  const shown = { variables: own, without, name: client?.name ?? '', words };
  const lines = shellLines(options.shell ?? shellOf(process.env), shown);
  process.stdout.write(`${lines.join('\n')}\n`);
  if (file !== undefined) notice(`note: ${client?.title} reads the rest from ${file.own}; write there: ${file.text}`);
}

async function setUp(client: Client | undefined, { key, model }: EnvOptions, config: Config): Promise<Setup> {
  const isWhole = key !== undefined && isWellFormedKey(key);
  const record = key === undefined ? undefined : await withStateOf(config, (state) => findKey(key, state));
  const socket = socketPathOf(config);
  const snapshot = await readSnapshot(socket, { maxLive: 0, maxEnded: 0 });
  if (snapshot === undefined && config.listen.port === 0)
    throw new UserError(
      `the config leaves the port to the system, and no gateway runs: start it first with \`${program()} serve\`, then its port is known`,
    );
  const url =
    snapshot === undefined
      ? urlOf(formatAddress(config.listen), config.tls && [])
      : urlOf(snapshot.address, snapshot.tls?.names);
  if (!isWhole) notice(`note: set ${KEY_VARIABLE} to the key first; \`${program()} keys create\` makes one`);
  const setup = { url, key: isWhole ? key : KEY_OF_SHELL, models: undefined };
  if (client === undefined) return setup;
  const rows = (await readModels(socket)) ?? modelRows(config);
  const { dialect } = client;
  const listed = configuredOffers(rows, config, record?.allowlist ?? null);
  const named = model === undefined ? undefined : configuredOfferNamed(listed, config, model, dialect);
  const models = chooseModels(named === undefined ? listed : [...listed, named], client, model);
  if (models !== undefined) {
    const note = contextNote(client, models);
    if (note !== undefined) notice(note);
    return { ...setup, models };
  }
  if (model !== undefined)
    throw new UserError(
      `--model ${model}: ${client.title} cannot call it here; \`${program()} models\` lists the models`,
    );
  notice(`note: there is no model for ${client.title}, which speaks ${client.dialect}`);
  return setup;
}

function shellOf({ SHELL: shell = '' }: NodeJS.ProcessEnv): Shell {
  return SHELLS.find((each) => each === basename(shell)) ?? (basename(shell) === 'pwsh' ? 'powershell' : 'bash');
}
