/**
 * The proof: the tests of that tier; or one campaign, `NAME [--minutes N] [--seed N]` with its own options; or
 * `hour`, all campaigns in turn, each in its own process. `--list` prints their names.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Campaign, Course, showRow } from './support/campaign.ts';

const ENDING = '.campaign.ts';
const MINUTES_OF_HOUR = 60;
const MS_PER_MINUTE = 60_000;
const LEAST_MS = MS_PER_MINUTE / 2;
/** So long a campaign may take for what it has begun when its time is over. After that it hangs. */
const GRACE_MS = 5 * MS_PER_MINUTE;

/** What a campaign came to, as its process tells it. */
interface Outcome {
  readonly done: string;
  readonly deviations: number;
}

interface Named {
  readonly name: string;
  readonly campaign: Campaign;
}

function campaigns(name = '*'): Promise<Named[]> {
  const paths = globSync(join(import.meta.dirname, '**', name + ENDING)).toSorted();
  const load = async (path: string): Promise<Named> => {
    const { default: campaign } = (await import(path)) as { default: Campaign };
    return { name: basename(path, ENDING), campaign };
  };
  return Promise.all(paths.map(load));
}

async function list(): Promise<void> {
  for (const { name, campaign } of (await campaigns()).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { proves, amounts, options, minutes } = campaign;
    const values = Object.entries({ ...amounts, ...options }).map(([option, value]) => `--${option} ${value || ''}`);
    console.log(`${name}${minutes === undefined ? ' (not in the hour)' : ''}: ${proves}`);
    if (values.length > 0) console.log(`    ${values.join(' ').replaceAll(/ +/g, ' ')}`);
  }
}

/** What is given of a campaign's options and of those that all have. Throws if it is none of them. */
function optionsOf({ amounts = {}, options = {} }: Partial<Campaign>, words: readonly string[]) {
  const defaults = { ...amounts, ...options };
  const typeOf = (value: unknown) => ({ type: typeof value === 'boolean' ? 'boolean' : 'string' }) as const;
  const types = Object.entries({ ...defaults, seed: 0, minutes: 0 }).map(([name, value]) => [name, typeOf(value)]);
  const given: Readonly<Record<string, unknown>> = parseArgs({
    args: [...words],
    options: Object.fromEntries(types),
  }).values;
  const number = (name: string) => (given[name] === undefined ? undefined : numberOf(name, String(given[name])));
  const { seed = Date.now() % 1_000_000, minutes } = { seed: number('seed'), minutes: number('minutes') };
  const values = Object.entries(defaults).map(([name, value]) => {
    const unasked = minutes !== undefined && Object.hasOwn(amounts, name) ? Number.POSITIVE_INFINITY : value;
    return [name, (typeof value === 'number' ? number(name) : given[name]) ?? unasked];
  });
  return { seed, minutes, options: Object.fromEntries(values) };
}

function numberOf(name: string, text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !(number >= 0)) throw new Error(`--${name} ${text}: expected a number of at least 0`);
  return number;
}

/** Runs a campaign in this process. */
async function run(name: string, words: readonly string[]): Promise<void> {
  const [named] = await campaigns(name);
  if (named === undefined) throw new Error(`there is no campaign ${name}: npm run prove -- --list names all`);
  const { seed, minutes, options } = optionsOf(named.campaign, words);
  const course = new Course(seed, minutes);
  // What it has started ends with it.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void course.end().finally(() => process.exit(1)));
  }
  console.log(`${name}, seed ${seed}`);
  let done = 'broken off';
  try {
    done = await named.campaign.run(course, options);
  } catch (error) {
    course.deviate(error instanceof Error ? String(error.stack) : String(error));
  } finally {
    await course.end();
  }
  const { deviations, seconds } = course;
  console.log(`${name}, seed ${seed}: ${done}, in ${seconds.toFixed(0)} s, ${deviations} deviations`);
  process.exitCode = deviations === 0 ? 0 : 1;
  process.send?.({ done, deviations } satisfies Outcome);
}

/** Runs all campaigns, one after the other. What one of them leaves of its time goes to the next ones. */
async function runAll(words: readonly string[]): Promise<void> {
  const { minutes = MINUTES_OF_HOUR, seed } = optionsOf({}, words);
  const endsAtMs = performance.now() + minutes * MS_PER_MINUTE;
  const all = (await campaigns()).filter(({ campaign }) => campaign.minutes !== undefined);
  const partOf = ({ campaign }: Named) => campaign.minutes ?? 0;
  const rows: { readonly name: string; readonly status: string; readonly cells: readonly (string | number)[] }[] = [];
  for (const [index, named] of all.entries()) {
    const parts = all.slice(index).reduce((sum, each) => sum + partOf(each), 0);
    const lastsMs = ((endsAtMs - performance.now()) * partOf(named)) / parts;
    rows.push(await runApart(named.name, seed, Math.max(lastsMs, LEAST_MS)));
    console.log();
  }
  showRow(`seed ${seed}`, ['seconds', 'deviations', 'status', 'done']);
  for (const { name, cells } of rows) showRow(name, cells);
  const failed = rows.filter(({ status }) => status !== '0').length;
  console.log(`${rows.length} campaigns, ${failed} of them failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

/** Runs a campaign in a process of its own: if that dies or hangs, it fails alone. */
async function runApart(name: string, seed: number, lastsMs: number) {
  const startedAtMs = performance.now();
  const minutes = (lastsMs / MS_PER_MINUTE).toFixed(2);
  const child = fork(fileURLToPath(import.meta.url), [name, '--seed', String(seed), '--minutes', minutes]);
  const end = () => {
    child.once('close', () => process.exit(1));
    child.kill();
  };
  process.once('SIGTERM', end);
  const overdue = [
    setTimeout(() => child.kill(), lastsMs + GRACE_MS),
    // If its clean-ups hang as well.
    setTimeout(() => child.kill('SIGKILL'), lastsMs + 2 * GRACE_MS),
  ];
  let outcome: Partial<Outcome> | undefined;
  child.on('message', (message) => {
    outcome = message as Outcome;
  });
  const [code, signal] = await once(child, 'close');
  for (const timer of overdue) clearTimeout(timer);
  process.off('SIGTERM', end);
  const { done = 'it died', deviations = '?' } = outcome ?? {};
  const status = String(signal ?? (outcome === undefined && code === 0 ? 'no report' : code));
  return { name, status, cells: [Math.round((performance.now() - startedAtMs) / 1_000), deviations, status, done] };
}

/** Runs the tests of the proof in a process of their own. `words`: further options of test/run.ts. */
async function test(words: readonly string[]): Promise<void> {
  const child = fork(join(import.meta.dirname, 'run.ts'), ['--tier', 'proof', ...words]);
  const [code] = await once(child, 'close');
  if (code !== 0) process.exitCode = 1;
}

const [what = '', ...words] = process.argv.slice(2);
if (what === '' || (what.startsWith('-') && what !== '--list')) await test(process.argv.slice(2));
else {
  const work = what === '--list' ? list() : what === 'hour' ? runAll(words) : run(what, words);
  await work.catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 2;
  });
}
