/** Creates the first key and credit of `init`, and reports the result with the next commands. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Command } from 'commander';
import type { Config, ModelConfig } from '../config/config.ts';
import { type ActiveProvider, EXAMPLE_PROVIDERS, UNADDRESSED_PROVIDERS } from '../config/example.ts';
import { isSet } from '../config/secrets.ts';
import { formatAddress, originOf } from '../core/address.ts';
import type { Nanos } from '../core/money.ts';
import { commandLine, program } from '../core/program.ts';
import { firstRequest } from '../operator/first-request.ts';
import type { Balance } from '../state/account.ts';
import { CLIENTS, type Client } from './clients/clients.ts';
import { balanceJson, enterCredit } from './credit.ts';
import { newKeyJson, printSecret } from './key-view.ts';
import { createKey } from './keys.ts';
import { money, notice, printJson, printLine, printTable, printText } from './output.ts';
import { globalOptions, withState } from './state.ts';

/** The note of the entry in `credit history`. */
const NOTE = 'inf-gw init';

/** The answers to the questions of `init`. */
export interface FirstState {
  readonly name: string | undefined;
  readonly creditNanos: Nanos | undefined;
}

/** The result of `init`. */
interface MadeState {
  readonly key: Awaited<ReturnType<typeof newKeyJson>> | undefined;
  readonly balance: Balance | undefined;
}

export interface InitReport {
  readonly config: Config;
  readonly providers: readonly ActiveProvider[];
  /** The variables by which the providers were chosen. */
  readonly environment: NodeJS.ProcessEnv;
  /** Whether the state is new. */
  readonly isNew: boolean;
  readonly made: MadeState;
}

/** Creates the key and adds the credit. Without either, no state file is created. */
export async function makeFirstState({ name, creditNanos }: FirstState, command: Command): Promise<MadeState> {
  if (name === undefined && creditNanos === undefined) return { key: undefined, balance: undefined };
  return withState(
    command,
    async (state) => {
      const made = name === undefined ? undefined : await createKey(name, {}, state);
      return {
        key: made && (await newKeyJson(made.record, made.secret, state)),
        balance: creditNanos === undefined ? undefined : await enterCredit(creditNanos, NOTE, state),
      };
    },
    { creates: true },
  );
}

/** Prints the result, as JSON if the command asks for it. */
export function printInit(report: InitReport, command: Command): void {
  const { config, providers, environment, made } = report;
  const unaddressed = UNADDRESSED_PROVIDERS.filter(({ variable }) => isSet(environment[variable]));
  if (globalOptions(command).json) return printJson(reportJson(report, unaddressed));
  printText(`Wrote ${config.path}, with these providers:`);
  printLine();
  printTable({
    columns: [{ head: 'PROVIDER' }, { head: 'MODELS', number: true }, { head: 'KEY', least: 12 }],
    rows: providers.map(({ name, variable }) => [
      name,
      String(modelsOf(name, config).length),
      variable ?? 'none needed',
    ]),
  });
  printLine();
  printMissing(report);
  for (const { name, variable } of unaddressed) {
    notice(
      `${variable} is set, but ${name} needs an address too: \`${program()} init --full\` writes an entry for it, commented out.`,
    );
  }
  if (made.balance !== undefined) printLine(`The balance is ${money(made.balance.balanceNanos)} USD.`);
  if (made.key !== undefined) printSecret(made.key.key);
  printNext(report);
}

/** The variables that would have activated more providers. */
function printMissing({ providers }: InitReport): void {
  const missing = EXAMPLE_PROVIDERS.filter(({ name }) => !providers.some((each) => each.name === name));
  if (missing.length === 0) return;
  const variables = missing.map(({ variables }) => variables[0]).join(', ');
  const hasPaid = providers.some(({ variable }) => variable !== undefined);
  const what = hasPaid ? 'Left out' : 'The mock answers without a network and costs nothing. Left out';
  printText(`${what}, since their variables are not set: ${variables}.`);
  printText(
    `Set one, or write it into a .env beside the config; \`${program()} init --force\` then writes a new config.`,
  );
  printLine();
}

function printNext({ config, providers, isNew, made }: InitReport): void {
  const hasPaid = providers.some(({ variable }) => variable !== undefined);
  const line = (...words: readonly string[]) => commandLine(words, config.path);
  if (made.key !== undefined) printLine();
  printLine('Next:', 'bold');
  if (!isNew) printLine(`  ${line('reload')}`);
  if (isNew && made.key === undefined) printLine(`  ${line('keys', 'create', 'my-app')}`);
  if (isNew && hasPaid && made.balance === undefined) printLine(`  ${line('credit', 'add', '10')}`);
  printLine(isNew ? `  ${line('serve')}` : `or, if no gateway is running: ${line('serve')}`);
  if (!isNew) return;
  printLine('and in a second terminal, with the key:');
  const origin = originOf(config.listen, config.tls !== undefined);
  for (const each of firstRequest(origin, firstModel(config, made))) printLine(`  ${each}`);
  printAgents(config);
}

/** The installed agents, with the commands that start them. */
function printAgents({ path }: Config): void {
  const agents = installedClients();
  if (agents.length === 0) return;
  printText('or an agent, which finds the gateway and a model by itself, with a key of its own:');
  for (const { name } of agents) printLine(`  ${commandLine(['run', '--max-usd', '2'], path)} -- ${name}`);
  printLine('or with the key above, for as long as this shell is open:');
  for (const { name } of agents) printLine(`  eval "$(${commandLine(['env', '--client', name], path)})"`);
}

/** The agents whose commands are in the path. */
function installedClients(): readonly Client[] {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return CLIENTS.filter(({ name }) => folders.some((folder) => isExecutable(join(folder, name))));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The cheapest model of the first provider with prices, if there is credit; otherwise the mock. */
function firstModel({ providers }: Config, { balance }: MadeState): string {
  const paid = providers.find(({ kind, missingVariable }) => kind !== 'mock' && missingVariable === undefined);
  const [provider] = balance === undefined || paid === undefined ? providers : [paid];
  const [cheapest] = provider?.models.toSorted((a, b) => (a.output < b.output ? -1 : 1)) ?? [];
  return `${provider?.name}/${cheapest?.name}`;
}

function modelsOf(provider: string, { providers }: Config): readonly ModelConfig[] {
  return providers.find(({ name }) => name === provider)?.models ?? [];
}

function reportJson({ config, providers, made }: InitReport, unaddressed: typeof UNADDRESSED_PROVIDERS) {
  return {
    config: config.path,
    listen: formatAddress(config.listen),
    state: config.statePath,
    providers: providers.map(({ name, variable }) => ({
      name,
      variable: variable ?? null,
      models: modelsOf(name, config).map((model) => `${name}/${model.name}`),
    })),
    unaddressed,
    key: made.key ?? null,
    credit: made.balance === undefined ? null : balanceJson(made.balance),
    agents: installedClients().map(({ name }) => name),
    next: commandLine(['serve'], config.path),
  };
}
