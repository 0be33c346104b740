/** `init`: writes a first config for the providers whose variables are set, and creates a first key. */
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { withEnvFile } from '../config/env-file.ts';
import { type ActiveProvider, activeProviders, configWith, EXAMPLE } from '../config/example.ts';
import { configPath, loadConfig } from '../config/load.ts';
import { UserError } from '../core/errors.ts';
import type { Nanos } from '../core/money.ts';
import { commandLine } from '../core/program.ts';
import { type Reader, readAmountAboveZero, readKeyName } from '../operator/input.ts';
import { isMissingFile } from '../state/open.ts';
import { parseWith } from './arguments.ts';
import { ask } from './confirm.ts';
import { type FirstState, makeFirstState, printInit } from './init-report.ts';
import { notice } from './output.ts';
import { globalOptions, loadOptions } from './state.ts';

/** Readable by all users, as far as the umask permits: a service runs as its own user, and the file has no secrets. */
const CONFIG_MODE = 0o644;
/** The number of attempts to answer a question. */
const MAX_ASKED = 3;
/** The state in the example config. */
const STATE_FILE = 'inf-gw.db';
const DEFAULT_NAME = 'my-app';
const DEFAULT_CREDIT = '10';

interface InitOptions {
  readonly key?: string;
  readonly credit?: Nanos;
  readonly full?: true;
  readonly force?: true;
  readonly yes?: true;
}

export function registerInit(program: Command): void {
  program
    .command('init')
    .description(
      'write a config for the providers whose variables are set; on a terminal or with --key, create a first key',
    )
    .option('--key <name>', 'create a key with this name and print it; it is shown only once', parseWith(readKeyName))
    .option('--credit <usd>', 'add credit, which pays for requests', parseWith(readAmountAboveZero))
    .option('--full', 'write every field and every provider: config.example.yaml as it is')
    .option('--force', 'replace an existing config')
    .option('--yes', 'ask nothing; without --key and --credit, only write the config')
    .addHelpText(
      'after',
      `
Variables are read from the environment and from a .env beside the config. On a terminal, init asks
for a first key and for credit; elsewhere it asks nothing. The config goes to --config,
$INF_GW_CONFIG or ./config.yaml. It names variables; no secret is written to it.

Examples:
  inf-gw init
  inf-gw init --key my-app --credit 10
  inf-gw init --yes --config /etc/inf-gw/config.yaml`,
    )
    .action((options: InitOptions, command: Command) => init(options, command));
}

async function init(options: InitOptions, command: Command): Promise<void> {
  const load = loadOptions(command);
  const { path } = configPath(load);
  refuseExisting(path, options);
  const { environment } = withEnvFile(process.env, dirname(path));
  const providers = activeProviders(environment);
  // Asked before any file is written, so that Ctrl-C leaves no files behind.
  const first = isAsking(path, options, command) ? await askForFirst(options, providers) : firstOf(options);
  write(path, options.full ? EXAMPLE : configWith(providers), options);
  const config = loadConfig(load);
  for (const warning of config.warnings) notice(`warning: ${warning}`);
  const isNew = isMissingFile(config.state);
  const made = await makeFirstState(first, command);
  printInit({ config, providers, environment, isNew, made }, command);
}

function firstOf({ key, credit }: InitOptions): FirstState {
  return { name: key, creditNanos: credit };
}

/** Asks on a terminal, and only for a new installation. */
function isAsking(path: string, { yes }: InitOptions, command: Command): boolean {
  const isTerminal = process.stdin.isTTY === true && process.stderr.isTTY === true;
  return isTerminal && !yes && !globalOptions(command).json && !existsSync(join(dirname(path), STATE_FILE));
}

async function askForFirst(options: InitOptions, providers: readonly ActiveProvider[]): Promise<FirstState> {
  const name = options.key ?? (await answerTo('Name of a first key, or n for none', DEFAULT_NAME, readKeyName));
  const hasPrices = providers.some(({ variable }) => variable !== undefined);
  const credit =
    options.credit ??
    (hasPrices
      ? await answerTo('Credit in USD, which pays for requests, or n for none', DEFAULT_CREDIT, readAmountAboveZero)
      : undefined);
  return { name, creditNanos: credit };
}

/** Asks until the answer is valid. Undefined for an empty answer. Throws a UserError after too many invalid ones. */
async function answerTo<T>(question: string, byDefault: string, reader: Reader<T>): Promise<T | undefined> {
  for (let asked = 0; asked < MAX_ASKED; asked++) {
    const answer = (await ask(`${question} (${byDefault}): `))?.trim();
    if (answer === undefined) break;
    if (/^no?$/i.test(answer)) return undefined;
    // `y` means yes; it is not a name.
    const reading = reader(/^(?:y(?:es)?)?$/i.test(answer) ? byDefault : answer);
    if (reading.ok) return reading.value;
    notice(reading.expected);
  }
  throw new UserError('no answer, so nothing was written; --yes asks nothing');
}

function refuseExisting(path: string, { force }: InitOptions): void {
  if (force || !existsSync(path)) return;
  throw new UserError(
    `${path} already exists, and was left as it is: check it with \`${commandLine(['config', 'check'], path)}\`, name another file with --config, or replace it with --force`,
  );
}

/** Never overwrites a file, even if it has appeared since the check. */
function write(path: string, text: string, { force }: InitOptions): void {
  try {
    writeFileSync(path, text, { mode: CONFIG_MODE, flag: force ? 'w' : 'wx' });
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new UserError(`cannot write the config file ${path} (${code}); its folder must exist and be writable`);
  }
}
