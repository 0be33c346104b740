/**
 * Writers in processes of their own, and one that starts a process per command, on the state file
 * of a gateway under load.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { type BalanceJson, type KeyJson, PATHS, type Workplace } from '../support/cli.ts';
import { Random } from '../support/random.ts';
import { RawConnection } from '../support/raw.ts';
import type { Scope } from '../support/run-scope.ts';
import type { OwnKey } from './edits.ts';
import { Load } from './load.ts';
import { outcomeOf, requestBytes } from './request.ts';
import { FIRST_CREDIT_USD, MODELS, openSite, type Site } from './site.ts';
import { type WriterJob, type WriterReport, write } from './writer.ts';

const SCRIPT = fileURLToPath(new URL('./process.ts', import.meta.url));

export interface ContestOptions {
  readonly seed: number;
  readonly clients: number;
  /** The number of editing processes, and of edits by each. */
  readonly writers: number;
  readonly edits: number;
  /** The number of edits that start a process of their own. */
  readonly typed: number;
}

export interface ContestResult {
  /** How long each edit took, in milliseconds: within a process, and as a process of its own. */
  readonly editsMs: readonly number[];
  readonly typedMs: readonly number[];
  readonly seconds: number;
  readonly served: number;
  readonly refused: number;
  readonly requestsMs: readonly number[];
  readonly deviations: readonly string[];
}

export async function runContest(scope: Scope, options: ContestOptions): Promise<ContestResult> {
  const { seed, clients, writers, edits, typed } = options;
  const site = await openSite(scope);
  const { place, port } = site;
  const jobs = Array.from({ length: writers }, (_, writer) => ({ writer, seed: seed + writer, edits, port }));
  const typist = { writer: writers, seed: seed + writers, edits: typed, port };
  const processes = await Promise.all(jobs.map((job) => WriterProcess.start(scope, job, place.directory)));
  const load = new Load(site, clients, new Random(seed));
  const startedAtMs = performance.now();
  const [typing, ...reports] = await Promise.all([
    write(typist, (words) => typeCommand(place, words)),
    ...processes.map((process) => process.report()),
  ]);
  const seconds = (performance.now() - startedAtMs) / 1000;
  await load.stop();
  const all = [...reports, typing];
  return {
    editsMs: reports.flatMap(({ milliseconds }) => milliseconds),
    typedMs: typing.milliseconds,
    seconds,
    served: load.served,
    refused: load.refused,
    requestsMs: load.takeLatencies(),
    deviations: [
      ...all.flatMap(({ deviations }) => deviations),
      ...load.deviations,
      ...(await deviationsAtTheEnd(site, all)),
    ],
  };
}

class WriterProcess {
  readonly #child: ChildProcess;
  readonly #job: WriterJob;

  private constructor(child: ChildProcess, job: WriterJob) {
    this.#child = child;
    this.#job = job;
  }

  static async start(scope: Scope, job: WriterJob, directory: string): Promise<WriterProcess> {
    // Only the paths of the test's environment, as for every other process of a workplace.
    const child = fork(SCRIPT, { cwd: directory, env: PATHS });
    const closed = once(child, 'close');
    scope.after(async () => {
      child.kill('SIGKILL');
      await closed;
    });
    await once(child, 'message');
    return new WriterProcess(child, job);
  }

  /** Starts the edits. Throws if the process ends without a report. */
  async report(): Promise<WriterReport> {
    const ended = once(this.#child, 'close').then(([status]) => {
      throw new Error(`writer ${this.#job.writer} exited with status ${status}`);
    });
    const reported = once(this.#child, 'message') as Promise<[WriterReport]>;
    this.#child.send(this.#job);
    const [report] = await Promise.race([reported, ended]);
    ended.catch(() => {});
    return report;
  }
}

async function typeCommand(place: Workplace, words: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await place.runAlone(words);
  if (status !== 0) throw new Error(`exit status ${status}: ${stderr}`);
  return stdout;
}

/** What differs from the result of all edits, while the gateway runs and after its end. */
async function deviationsAtTheEnd(site: Site, reports: readonly WriterReport[]): Promise<string[]> {
  const { place, serving } = site;
  const listed = new Map((await place.json<KeyJson[]>('keys', 'list', '--all')).map((key) => [key.id, key]));
  const deviations = reports.flatMap(({ keys }) => keys.flatMap((key) => deviationsOfKey(key, listed.get(key.id))));
  deviations.push(...deviationsOfCredit(await place.json<CreditJson[]>('credit', 'history'), reports));
  deviations.push(...(await deviationsWithoutCredit(site)));
  const status = await serving.stop();
  if (status !== 0) deviations.push(`the gateway exited with status ${status}`);
  deviations.push(...serving.log.filter(({ level }) => level !== 'info').map(({ msg }) => `the gateway logged ${msg}`));
  const audit = await place.run(['audit']);
  if (audit.status !== 0) deviations.push(`audit: ${audit.stderr}`);
  return deviations;
}

function deviationsOfKey(key: OwnKey, listed: KeyJson | undefined): string[] {
  const { name, state, rpm, tpm, spendLimitUsd, allowlist } = key;
  const expected = { name, state, rpm, tpm, spendLimitUsd, allowlist };
  const found = listed && {
    name: listed.name,
    state: listed.state,
    rpm: listed.limits.rpm,
    tpm: listed.limits.tpm,
    spendLimitUsd: listed.spend_limit_usd,
    allowlist: listed.allowlist,
  };
  if (isDeepStrictEqual(found, expected)) return [];
  return [`the key ${key.id} is ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`];
}

/** Without credit a request that costs something is refused, and with credit it is admitted. */
async function deviationsWithoutCredit({ place, port, secrets }: Site): Promise<string[]> {
  const connection = await RawConnection.open(port);
  const { balance_usd: balance } = await place.json<BalanceJson>('credit', 'show');
  const deviations: string[] = [];
  for (const [verb, usd, expected] of [
    ['remove', balance, '402 insufficient_credit'],
    ['add', FIRST_CREDIT_USD, '200'],
  ] as const) {
    await place.json('credit', verb, usd);
    connection.send(requestBytes(secrets.unlimited, MODELS.paid, false));
    const outcome = outcomeOf(await connection.answer());
    if (outcome !== expected) deviations.push(`after credit ${verb} ${usd} the gateway answers ${outcome}`);
  }
  connection.leave();
  return deviations;
}

interface CreditJson {
  readonly amount_usd: string;
  readonly note: string;
}

function deviationsOfCredit(history: readonly CreditJson[], reports: readonly WriterReport[]): string[] {
  const [first, ...entries] = history.map(({ amount_usd: amount }) => Number(amount));
  const sum = entries.reduce((total, amount) => total + amount, 0);
  const expected = {
    first: Number(FIRST_CREDIT_USD),
    entries: reports.reduce((total, { creditEntries }) => total + creditEntries, 0),
    sum: reports.reduce((total, { creditUsd }) => total + creditUsd, 0),
    notes: reports.reduce((total, { creditEntries }) => total + creditEntries, 1),
  };
  const found = { first, entries: entries.length, sum, notes: new Set(history.map(({ note }) => note)).size };
  if (isDeepStrictEqual(found, expected)) return [];
  return [`credit is ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`];
}
