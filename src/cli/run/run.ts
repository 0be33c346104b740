/** `run`: runs a command with a temporary key, a budget and an expiry, and prints a receipt. */
import { basename } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { Config } from '../../config/config.ts';
import { secretVariables } from '../../config/secret-variables.ts';
import { UserError } from '../../core/errors.ts';
import { nearestWord } from '../../core/likeness.ts';
import type { Nanos } from '../../core/money.ts';
import { counted } from '../../core/plural.ts';
import { program } from '../../core/program.ts';
import { readExpiry } from '../../operator/budgets.ts';
import { exactUsd } from '../../operator/format.ts';
import { type Reader, readAmountAboveZero, readKeyName } from '../../operator/input.ts';
import { parseModelIds, parseWith } from '../arguments.ts';
import { CLIENTS, type Client, clientOf, type Setup } from '../clients/clients.ts';
import { jsonLine, notice, remarkLines, remarkLook } from '../output.ts';
import { globalOptions, loadOptions, variablesOf } from '../state.ts';
import { type Ending, runCommand, Signals, statusOf } from './child.ts';
import { type Desk, type LeashedKey, StateDesk } from './desk.ts';
import { gatewayFor } from './gateway.ts';
import { httpDesk } from './http-desk.ts';
import { checkProviderOf, setUpFor, writeFileOf } from './launch.ts';
import { commandEnvironment, type Secrets } from './variables.ts';

interface RunOptions {
  readonly maxUsd?: Nanos;
  /** In milliseconds. */
  readonly for?: number;
  readonly allow?: string[];
  readonly name?: string;
  readonly client?: string;
  readonly model?: string;
}

/** The default expiry: longer than agents work, and short for a key that a killed `run` leaves behind. In milliseconds. */
const DEFAULT_TIME_MS = 24 * 3_600_000;
const MOST_DAYS = 366;

/** Reads a duration: `90s`, `30m`, `2h`, `7d`. In milliseconds. */
const readTime: Reader<number> = (text) => {
  const reading = /^\d+[smhd]$/.test(text) ? readExpiry(0)(text) : undefined;
  if (reading?.ok && reading.value <= MOST_DAYS * 86_400_000) return reading;
  return { ok: false, expected: `Expected how long, such as 30m, 2h or 7d, up to ${MOST_DAYS} days.` };
};

export function registerRun(program: Command): void {
  program
    .command('run')
    .description('run a command with a spending limit: it gets a key of its own, and you get a receipt at the end')
    .option('--max-usd <usd>', 'what the command may spend (required)', parseWith(readAmountAboveZero))
    .option('--for <time>', 'how long its key works, such as 30m or 2h (default: 24h)', parseWith(readTime))
    .option('--allow <model>', 'allow this model; repeat for more (default: all models)', parseModelIds)
    .option(
      '--name <name>',
      'the name of its key (default: that of the command and a random part)',
      parseWith(readKeyName),
    )
    .addOption(
      new Option('--client <client>', 'which client the command is, if its name does not say so').choices(
        CLIENTS.map(({ name }) => name),
      ),
    )
    .option('--model <model>', 'the model that the client uses (default: chosen from what its key can call)')
    .argument('[command...]', 'the command and its arguments, after --')
    // Words of the command must not be parsed as options of `run`, or reported as faults.
    .allowUnknownOption()
    .addHelpText(
      'after',
      `\n${new Intl.ListFormat('en-GB').format(CLIENTS.map(({ name }) => name))} are pointed at the gateway and at a model, each in its own way.
Other commands find the gateway by OPENAI_BASE_URL, ANTHROPIC_BASE_URL and the like. None of them sees your providers' keys.
If no gateway is running, run serves on a free port until the command ends; without a config, for the providers whose keys are set.
Requests without a maximum of output tokens get the largest one that the budget pays for. A run inside a run also counts against the outer one.
Exit status: that of the command; 128 + n if signal n ended it; 127 if it was not found.
\nExamples:\n  inf-gw run --max-usd 2 -- claude\n  inf-gw run --max-usd 0.50 --for 2h --allow openai/gpt-5.4 -- aider`,
    )
    .action((words: string[], options: RunOptions, command: Command) => run(words, options, command));
}

async function run(words: readonly string[], options: RunOptions, command: Command): Promise<void> {
  const { maxUsd } = options;
  const own = wordsOfCommand(command);
  // One of them may be --max-usd, misspelt.
  if (words.length > own.length) refuseStray(words[0] ?? '', command);
  if (maxUsd === undefined) {
    return command.error(
      `error: --max-usd is missing: a command that spends money needs a bound, and there is no sensible default; say how much it may spend, such as \`${program()} run --max-usd 2 -- claude\``,
    );
  }
  const [file] = own;
  if (file === undefined)
    return command.error(`error: which command? Put it after --: \`${program()} run --max-usd 2 -- claude\``);
  const client = clientOf(options.client ?? file);
  if (client === undefined && options.model !== undefined) {
    return command.error(`error: --model needs a known client, and ${file} is not one; say which it is with --client`);
  }
  // The terminal may be gone when the receipt is printed.
  process.stderr.on('error', () => {});
  const loading = loadOptions(command);
  const desk = (await httpDesk(loading)) ?? new StateDesk(await gatewayFor(loading));
  const terms = { ...options, client, maxUsd, timeMs: options.for ?? DEFAULT_TIME_MS };
  const ending = await new Run(desk, own, file, terms, globalOptions(command).json === true).whole();
  // Idle connections of clients must not keep this process alive.
  process.exit(ending.status);
}

/** Ends with a usage error for the first word before `--` that is neither an option of `run` nor a value of one. */
function refuseStray(word: string, command: Command): never {
  const meant = nearestWord(
    word,
    command.options.flatMap(({ long }) => long ?? []),
  );
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
  return command.error(
    `error: unexpected ${word}: put -- before the command, and the options of run before that${hint}`,
  );
}

/** The words after `--`. */
function wordsOfCommand(command: Command): readonly string[] {
  const { rawArgs = [] } = command.parent as Command & { readonly rawArgs?: readonly string[] };
  const end = rawArgs.indexOf('--');
  return end < 0 ? [] : rawArgs.slice(end + 1);
}

interface Terms extends Omit<RunOptions, 'client'> {
  readonly client: Client | undefined;
  readonly maxUsd: Nanos;
  readonly timeMs: number;
}

/** The exit status if the command was not started. */
const FAILED = 1;
/** The time between two checks of requests in flight, in milliseconds. */
const CHECK_MS = 50;
/** Delay before the notice that `run` waits for requests in flight, in milliseconds. */
const UNNOTICED_MS = 1_000;

/** A command with its key, from the key's creation to the receipt. */
class Run {
  readonly #desk: Desk;
  readonly #words: readonly string[];
  readonly #file: string;
  readonly #terms: Terms;
  readonly #isJson: boolean;
  readonly #signals = new Signals();
  /** Aborted by a signal that arrives before the command starts or after it ends. */
  readonly #stopped = new AbortController();
  readonly #startedAtMs = Date.now();

  constructor(desk: Desk, words: readonly string[], file: string, terms: Terms, isJson: boolean) {
    this.#desk = desk;
    this.#words = words;
    this.#file = file;
    this.#terms = terms;
    this.#isJson = isJson;
    this.#signals.onStop = (signal) => this.#stopped.abort(signal);
  }

  /** Runs from the key to the receipt. Throws a UserError if the key cannot be created, after stopping the gateway. */
  async whole(): Promise<Ending> {
    const { maxUsd, allow, name } = this.#terms;
    const terms = { maxUsd, allow, name, expiresAtMs: this.#startedAtMs + this.#terms.timeMs };
    let key: LeashedKey;
    try {
      key = await this.#desk.make(this.#file, terms);
    } catch (error) {
      await this.#desk.stop();
      throw error;
    }
    // Errors of the gateway name this key, and `limits set` can raise its limits while the command runs.
    notice(`the key of this run is ${key.name}; it may spend ${exactUsd(maxUsd)} USD`);
    const ending = await this.#command(key);
    try {
      await this.#settle(ending);
    } catch (error) {
      // The exit status is the command's, even if the state cannot be read any more.
      notice(`error: no receipt: ${(error as Error).message}; the key ${key.name} ends by itself`);
    }
    return ending;
  }

  async #command({ id, secret }: LeashedKey): Promise<Ending> {
    const { signal } = this.#stopped;
    if (signal.aborted) return { status: statusOf(signal.reason), signal: signal.reason, problem: undefined };
    const { client } = this.#terms;
    let setup: Setup;
    let file: ReturnType<typeof writeFileOf> | undefined;
    try {
      setup = await this.#setUp(secret);
      file = client && writeFileOf(client, setup, process.env);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      notice(`error: ${error.message}`);
      return { status: FAILED, signal: undefined, problem: error.message };
    }
    const { config } = this.#desk;
    const environment = commandEnvironment(process.env, client, setup, secretsOf(config));
    const [name = '', ...words] = this.#words;
    try {
      const ending = await runCommand(
        [name, ...(client?.words?.(setup) ?? []), ...words],
        { ...environment, ...file?.variables, ...this.#desk.variables(id) },
        this.#signals,
      );
      if (ending.problem !== undefined) notice(`error: cannot run ${this.#file}: ${ending.problem}`);
      return ending;
    } finally {
      file?.remove();
    }
  }

  /** Throws a UserError if the client cannot use the requested model, or if its provider refuses the gateway's key. */
  async #setUp(key: string): Promise<Setup> {
    const { client, model } = this.#terms;
    if (client === undefined) return { url: this.#desk.url, key, models: undefined };
    const setup = await setUpFor(client, this.#desk, key, { model, environment: process.env });
    if (setup.models !== undefined) await checkProviderOf(setup.models, this.#desk);
    return setup;
  }

  /** Disables the key, waits for requests in flight, and prints the receipt. */
  async #settle(ending: Ending): Promise<void> {
    const ended = { command: basename(this.#file), ending, startedAtMs: this.#startedAtMs };
    const receipt = await this.#desk.end(ended, (inFlight) => this.#untilIdle(inFlight));
    if (ending.problem !== undefined) return;
    if (this.#isJson) process.stderr.write(jsonLine(receipt.json()));
    else remarkLines(receipt.lines(remarkLook()));
  }

  /** Waits for requests in flight, at most as long as a shutdown, or until a signal arrives. */
  async #untilIdle(readInFlight: () => Promise<number>): Promise<void> {
    const { drainMs } = this.#desk.config.timeouts;
    const startedAtMs = performance.now();
    let isTold = false;
    while (!this.#stopped.signal.aborted) {
      const inFlight = await readInFlight();
      const waitedMs = performance.now() - startedAtMs;
      if (inFlight === 0 || waitedMs >= drainMs) return;
      if (waitedMs >= UNNOTICED_MS && !isTold) {
        notice(
          `waiting up to ${drainMs / 1_000} s for ${counted(inFlight, 'request')} in flight (Ctrl-C: do not wait)`,
        );
        isTold = true;
      }
      await setTimeout(CHECK_MS);
    }
  }
}

function secretsOf(config: Config): Secrets {
  const { path, providers } = config;
  const variables = variablesOf(config);
  const names = path === undefined ? [] : secretVariables(path, variables);
  const keys = providers.flatMap((provider) =>
    provider.kind === 'mock'
      ? []
      : [...provider.upstreams.map(({ apiKey }) => apiKey), ...credentialsIn(provider.headers)],
  );
  const values = [...keys, ...names.map((name) => variables[name])];
  return { names, values: values.filter((value) => value !== undefined) };
}

/** The credentials in headers, without their schemes. */
function credentialsIn(headers: Readonly<Record<string, string>>): string[] {
  const named = Object.entries(headers).filter(([name]) => /auth|key|token|secret/i.test(name));
  return named.map(([, value]) => value.replace(/^\w+ +/, ''));
}
