/** A writer: one edit after the other, and after each a check that the gateway applies it. */
import type { BalanceJson } from '../support/cli.ts';
import { Random } from '../support/random.ts';
import { RawConnection } from '../support/raw.ts';
import { type Edit, Edits, expectedOf, type OwnKey } from './edits.ts';
import { outcomeOf, requestBytes } from './request.ts';
import { MODELS } from './site.ts';

/** Runs a command and returns what it printed. Throws if it fails. */
export type RunCommand = (words: readonly string[]) => Promise<string>;

/** What a writer must do. */
export interface WriterJob {
  /** From 0 to 8, different for each writer of a state file. */
  readonly writer: number;
  readonly seed: number;
  readonly edits: number;
  readonly port: number;
}

/** What a writer did. */
export interface WriterReport {
  /** How long each edit took, without the check after it. */
  readonly milliseconds: readonly number[];
  readonly keys: readonly OwnKey[];
  readonly creditUsd: number;
  readonly creditEntries: number;
  readonly deviations: readonly string[];
}

const UNITS_OF_A_DIGIT = 10;

export async function write(job: WriterJob, run: RunCommand): Promise<WriterReport> {
  const random = new Random(job.seed);
  const edits = new Edits(job.writer, random);
  const milliseconds: number[] = [];
  const deviations: string[] = [];
  const connection = await RawConnection.open(job.port);
  for (let count = 0; count < job.edits; count++) {
    const edit = edits.draw();
    try {
      const startedAtMs = performance.now();
      const printed = await run(edit.words);
      milliseconds.push(performance.now() - startedAtMs);
      const seen = await look(edit, printed);
      if (seen !== undefined) deviations.push(`after ${edit.words.join(' ')}: ${seen}`);
    } catch (error) {
      deviations.push(`${edit.words.join(' ')}: ${(error as Error).message}`);
    }
  }
  connection.leave();
  const { keys, units, unitUsd, entries } = edits;
  return { milliseconds, keys, creditUsd: units * unitUsd, creditEntries: entries, deviations };

  /** How the gateway differs from what the edit should have caused. */
  async function look(edit: Edit, printed: string): Promise<string | undefined> {
    const key = edit.done(printed);
    return key === undefined ? lookAtBalance() : lookAtKey(key);
  }

  async function lookAtKey(key: OwnKey): Promise<string | undefined> {
    connection.send(requestBytes(key.secret, MODELS.free, random.chance(0.5)));
    const answer = await connection.answer();
    const header = (name: string) => Number(answer.headers.get(`x-ratelimit-limit-${name}`));
    const seen = {
      outcome: outcomeOf(answer),
      limitRequests: header('requests'),
      limitTokens: header('tokens'),
    };
    const [got, expected] = [seen, expectedOf(key)].map((figures) => JSON.stringify(figures));
    return got === expected ? undefined : `the gateway answers ${got} instead of ${expected}`;
  }

  /** This writer's digit, which neither other writers nor the cost of requests change. */
  async function lookAtBalance(): Promise<string | undefined> {
    const { balance_usd: balance } = JSON.parse(await run(['credit', 'show', '--json'])) as BalanceJson;
    const digit = Math.floor(Number(balance) / edits.unitUsd) % UNITS_OF_A_DIGIT;
    return digit === edits.units ? undefined : `the balance is ${balance} where this writer has ${edits.units}`;
  }
}
