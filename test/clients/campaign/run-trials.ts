/** What each agent does by `inf-gw run` with the shipped config: it edits a file, and meets a wrong key, a full context, a spent budget. */
import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { EXAMPLE } from '../../../src/config/example.ts';
import { parseWithoutFile } from '../../../src/config/load.ts';
import type { Prices } from '../../../src/core/model-terms.ts';
import { parseUsd } from '../../../src/core/money.ts';
import type { Agent } from './agents.ts';
import type { Scenario } from './run-findings.ts';
import type { Billed, HostScript, RunHosts } from './run-hosts.ts';
import { DONE_WORDS } from './scripted-answers.ts';
import { PROGRAM, runProgram } from './site.ts';

/** What one run of an agent came to. */
interface Seen {
  readonly seen: string;
  /** What is not as it should be. */
  readonly wrong?: string;
}

/** Agents that hang are ended. */
const LIMIT_S = 180;
/** The time in which a failure has to end in a clear message. */
const MOST_S = 10;
const KEYS = {
  OPENAI_API_KEY: 'sk-of-openai-4711',
  ANTHROPIC_API_KEY: 'sk-of-anthropic-4711',
  GEMINI_API_KEY: 'sk-of-google-4711',
};
/** How agents and hosts put it that the input is too long. */
const FULL =
  /hit a token limit|context window|context length|context_length|too long|exceeds the maximum number of tokens/i;
const NANOS_PER_USD = 1e9;
const TOKENS_PER_PRICE = 1_000_000n;
/** Pays for the first request of every agent. The first answer spends it. */
const SMALL_USD = 0.1;
const BEFORE = 'It was good before that.\n';
const AFTER = 'It was good after that.\n';

/** The shipped config has Google's models in the chat format alone. */
const GOOGLE = `
  gemini:
    kind: gemini
    base_url: https://generativelanguage.googleapis.com/v1beta
    api_key: \${GEMINI_API_KEY}
    models:
      gemini-3.6-flash: { input: 0.75, cached_input: 0.075, output: 3.75, context_window: 1048576, max_output: 65536 }
`;
const CONFIG = `${EXAMPLE}${GOOGLE}`;

interface Ended {
  readonly output: string;
  readonly seconds: number;
  /** Those since the first request for an answer: agents take long to start. */
  readonly secondsOfWork: number;
  readonly receipt: Receipt | undefined;
}

interface Receipt {
  readonly status: number;
  readonly leash: string | null;
  readonly requests: number;
  readonly errors: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cost_usd: string;
  readonly cut_answers: number;
  readonly in_flight: number;
  readonly failures: readonly { readonly why: string }[];
  readonly refusals: readonly { readonly code: string }[];
}

export class RunTrial {
  readonly #agent: Agent;
  readonly #hosts: RunHosts;
  readonly #folder: string;
  readonly #path: string;
  readonly #prices: ReadonlyMap<string, Prices>;

  private constructor(agent: Agent, hosts: RunHosts, folder: string, path: string) {
    this.#agent = agent;
    this.#hosts = hosts;
    this.#folder = folder;
    this.#path = path;
    const { providers } = parseWithoutFile(CONFIG, KEYS, '/');
    this.#prices = new Map(providers.flatMap(({ models }) => models.map((model) => [model.upstream, model])));
  }

  /** `path`: where commands are found. */
  static async make(agent: Agent, hosts: RunHosts, folder: string, path: string): Promise<RunTrial> {
    rmSync(folder, { recursive: true, force: true });
    for (const name of ['home', 'work']) mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, 'config.yaml'), CONFIG.replaceAll(/https:\/\/[\w.]+(?=\/)/g, hosts.origin));
    await runProgram(folder, ['credit', 'add', '100']);
    return new RunTrial(agent, hosts, folder, path);
  }

  try(scenario: Scenario): Promise<Seen> {
    switch (scenario) {
      case 'own dialect':
        return this.#edits();
      case 'translated':
        return this.#edits(this.#agent.foreignModel);
      case 'wrong key':
        return this.#fails({ fault: 'key' }, /refuses its key \(401\)/);
      case 'key refused later':
        return this.#fails({ fault: 'key later' }, /has rejected the gateway|401|must check its key/i);
      case 'full context':
        return this.#fails({ fault: 'context' }, FULL);
      case 'spent budget':
        return this.#spends();
    }
  }

  async #edits(model?: string): Promise<Seen> {
    const ended = await this.#run(this.#script(), { model });
    const { receipt, seconds } = ended;
    const wrong = [
      ...(this.#file() === AFTER ? [] : ['the file has not changed']),
      ...(ended.output.includes(DONE_WORDS) || this.#agent.texts !== undefined ? [] : ['the end was not shown']),
      ...this.#untruths(receipt),
    ];
    const seen = `${seconds} s, ${receipt?.cost_usd} USD`;
    return { seen, ...(wrong.length > 0 && { wrong: `${wrong.join(', ')}: ${lastLine(ended)}` }) };
  }

  async #fails(script: HostScript, message: RegExp): Promise<Seen> {
    return this.#ended(await this.#run({ ...this.#script(), ...script }), message, null);
  }

  async #spends(): Promise<Seen> {
    const perToken = (model: string) =>
      Number(this.#prices.get(model)?.input) / Number(TOKENS_PER_PRICE) / NANOS_PER_USD;
    const extraInput = (model: string) => Math.ceil(SMALL_USD / perToken(model));
    const ended = await this.#run({ ...this.#script(), extraInput }, { usd: SMALL_USD });
    return this.#ended(ended, /has reached( its total budget)?/i, 'budget');
  }

  #ended(ended: Ended, message: RegExp, leash: string | null): Seen {
    const { receipt, secondsOfWork: seconds, output } = ended;
    // An agent that says nothing leaves it to the receipt.
    const reasons = [
      ...(receipt?.failures.map(({ why }) => why) ?? []),
      ...(receipt?.refusals.map(({ code }) => code) ?? []),
    ];
    const said = output.split('\n').find((each) => message.test(each));
    const line = said ?? reasons.find((each) => message.test(each) || each === 'spend_limit_reached');
    const wrong = [
      ...(line === undefined ? ['no clear message'] : []),
      ...(seconds > MOST_S ? [`took ${seconds} s`] : []),
      ...(receipt !== undefined && receipt.leash !== leash ? [`leash ${receipt.leash}`] : []),
      ...(receipt === undefined ? [] : this.#untruths(receipt)),
    ];
    const from = said === undefined && line !== undefined ? 'the receipt: ' : '';
    const seen = `${seconds} s, ${from}${shortened(line ?? lastLine(ended), message)}`;
    return { seen, ...(wrong.length > 0 && { wrong: wrong.join(', ') }) };
  }

  /** What the receipt has that the hosts have not billed, or the other way round. */
  #untruths(receipt: Receipt | undefined): string[] {
    if (receipt === undefined) return ['there is no receipt'];
    const { billed } = this.#hosts;
    const sum = (of: (each: Billed) => number) => billed.reduce((total, each) => total + of(each), 0);
    const nanos = billed.reduce((total, each) => total + this.#costOf(each), 0n);
    const pairs = [
      ['requests', receipt.requests - receipt.errors, billed.length],
      ['input', receipt.prompt_tokens, sum(({ usage }) => usage.plain + usage.cached + usage.written)],
      ['output', receipt.completion_tokens, sum(({ usage }) => usage.output)],
      ['nanodollars', Number(parseUsd(receipt.cost_usd)), Number(nanos)],
      ['cut answers', receipt.cut_answers, 0],
      ['in flight', receipt.in_flight, 0],
    ] as const;
    return pairs.flatMap(([what, told, is]) => (told === is ? [] : [`${what} in the receipt ${told}, billed ${is}`]));
  }

  #costOf({ model, usage: { plain, cached, written, output } }: Billed): bigint {
    const own = this.#prices.get(model);
    if (own === undefined) throw new Error(`the shipped config has no model ${model}`);
    const isLong = own.above !== undefined && plain + cached + written > own.above.tokens;
    const prices = isLong && own.above !== undefined ? { ...own, ...own.above } : own;
    const parts = [
      [plain, prices.input],
      [cached, prices.cachedInput],
      [written, prices.cacheWrite],
      [output, prices.output],
    ] as const;
    const total = parts.reduce((sum, [tokens, price]) => sum + BigInt(tokens) * price, 0n);
    return (total + TOKENS_PER_PRICE - 1n) / TOKENS_PER_PRICE;
  }

  #script(): HostScript {
    const { edits, texts } = this.#agent;
    return { ...(edits && { calls: edits(this.#note, 'before', 'after') }), ...(texts && { texts }) };
  }

  get #note(): string {
    return join(this.#folder, 'work', 'note.txt');
  }

  #file(): string {
    return readFileSync(this.#note, 'utf8');
  }

  async #run(
    script: HostScript,
    { model, usd = 1 }: { readonly model?: string | undefined; readonly usd?: number } = {},
  ) {
    writeFileSync(this.#note, BEFORE);
    this.#hosts.follow(script);
    const words = ['run', '--json', '--config', join(this.#folder, 'config.yaml'), '--max-usd', String(usd)];
    const ahead = [process.execPath, PROGRAM, ...words, ...(model === undefined ? [] : ['--model', model]), '-- '].join(
      ' ',
    );
    const line = this.#agent.once('Change before to after in the note.', ahead);
    const lines = join(this.#folder, 'try.sh');
    writeFileSync(lines, `${this.#agent.prepares ?? ''}\n${line}\n`);
    const startedAtMs = performance.now();
    const child = spawn('timeout', [String(LIMIT_S), 'bash', lines], {
      cwd: join(this.#folder, 'work'),
      env: { ...KEYS, PATH: this.#path, HOME: join(this.#folder, 'home'), LANG: 'C.UTF-8', TERM: 'dumb' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const seconds = secondsSince(startedAtMs);
    const secondsOfWork = secondsSince(this.#hosts.firstAtMs ?? startedAtMs);
    appendFileSync(join(this.#folder, 'runs.log'), `$ ${line}\n${stdout}${stderr}(${seconds} s)\n\n`);
    const receipt = stderr.split('\n').findLast((each) => each.startsWith('{"command"'));
    const output = `${stdout}${stderr}`.replaceAll(`${receipt}`, '');
    return {
      output,
      seconds,
      secondsOfWork,
      receipt: receipt === undefined ? undefined : (JSON.parse(receipt) as Receipt),
    };
  }
}

function secondsSince(startMs: number): number {
  return Math.round((performance.now() - startMs) / 100) / 10;
}

function lastLine({ output }: Ended): string {
  return output.trim().split('\n').at(-1) ?? '';
}

/** The number of characters of a message that the table shows. */
const SHOWN = 100;

/** A message as a cell of a table: from the beginning of the sentence that it is known by. */
function shortened(line: string, message: RegExp): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminals' colours begin with one.
  const plain = line.replaceAll(/\u001b\[[\d;]*m/g, '').trim();
  const before = plain.slice(0, Math.max(0, plain.search(message)));
  const from = Math.max(
    ...['. ', ': ', '":"', '· '].map((end) => before.lastIndexOf(end) + end.length * Number(before.includes(end))),
    0,
  );
  const shown = plain.slice(from);
  return `“${shown.length <= SHOWN ? shown : `${shown.slice(0, SHOWN)}…`}”`.replaceAll('|', '/');
}
