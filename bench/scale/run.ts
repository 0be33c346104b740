/**
 * The cost of a large state file, compared with one of ten keys and ten requests; with `--users N`
 * the cost of so many end users, compared with ten; with `--audit N` the duration of `audit` with so many. `npm run
 * bench:scale`.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import { median } from '../../test/support/statistics.ts';
import { type Helpers, Load, startHelpers, type Upstream } from '../helpers.ts';
import { type GatewayServer, gateway } from '../targets.ts';
import { measureAudits } from './audit.ts';
import { makeLargeState, type Size } from './large-state.ts';
import { showProgress } from './progress.ts';
import { type Crowd, gather, measureCrowds } from './users.ts';

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));
const SMALL: Size = { keys: 10, rows: 10 };
const FEW: Crowd = { users: 10, groups: 2 };
const TIMES = 5;
const LOAD_MS = 2_000;
const CONNECTIONS = 64;

/** The figures of one file, by label. */
type Figures = Map<string, number>;

/**
 * Commands and their labels. `<id>` stands for the completion of an old request, `<month>` for the
 * current month.
 */
const COMMANDS: readonly (readonly [what: string, args: readonly string[]])[] = [
  ['`credit show` (the least a command takes), ms', ['credit', 'show']],
  ['`keys list`, a page, ms', ['keys', 'list']],
  ['`keys show`, ms', ['keys', 'show', 'app-000001']],
  ['`usage` of the month, ms', ['usage', '--since', '<month>']],
  ['`usage --by key` of the month, ms', ['usage', '--by', 'key', '--since', '<month>']],
  ['`usage --by model` of the month, ms', ['usage', '--by', 'model', '--since', '<month>']],
  ['`usage --by day` of the month, ms', ['usage', '--by', 'day', '--since', '<month>']],
  ['`usage --since 12h`, ms', ['usage', '--since', '12h']],
  ['`requests`, the last 50, ms', ['requests']],
  ['`requests --key`, of a rare key, ms', ['requests', '--key', 'app-000009']],
  ['`requests show` of an old completion, ms', ['requests', 'show', '<id>']],
  ['`audit`, ms', ['audit']],
];

async function measure(path: string, upstream: Upstream, load: Load): Promise<Figures> {
  const server = await gateway({ name: 'gateway', checkout: CHECKOUT, settings: { state: path } }, upstream.port);
  const figures: Figures = new Map([['size, MB', statSync(path).size / 1024 / 1024]]);
  await measureServing(server, load, figures);
  measureCommands(server, path, figures);
  return figures;
}

async function measureServing(server: GatewayServer, load: Load, figures: Figures): Promise<void> {
  const starts: number[] = [];
  for (let i = 0; i < TIMES; i++) {
    const { process, startUpMs } = await server.start();
    starts.push(startUpMs);
    await process.stop();
  }
  figures.set('start to first 200, ms', median(starts));
  const { process } = await server.start();
  const run = async (milliseconds: number) => {
    const before = await process.usage();
    const arrivals = { kind: 'closed' as const, connections: CONNECTIONS };
    const { port, key, headers } = server;
    const result = await load.run({ port, key, headers, arrivals, length: { milliseconds }, stream: false });
    const { cpuMicroseconds } = await process.usage();
    const cpu = (cpuMicroseconds - before.cpuMicroseconds) / result.answers;
    return { rate: result.answers / result.seconds, cpu };
  };
  await run(LOAD_MS / 2);
  const runs = [];
  for (let i = 0; i < TIMES; i++) runs.push(await run(LOAD_MS));
  figures.set(`requests/s at ${CONNECTIONS} connections`, median(runs.map(({ rate }) => rate)));
  figures.set('CPU a request, µs', median(runs.map(({ cpu }) => cpu)));
  figures.set('memory after it, MB', (await process.usage()).rssBytes / 1024 / 1024);
  await process.stop();
}

function measureCommands(server: GatewayServer, path: string, figures: Figures): void {
  const values = { '<id>': oldCompletion(path), '<month>': `${new Date().toISOString().slice(0, 7)}-01` };
  for (const [what, command] of COMMANDS) {
    const filled = command.map((arg) => values[arg as keyof typeof values] ?? arg);
    const times: number[] = [];
    for (let i = 0; i < (command[0] === 'audit' ? 1 : TIMES); i++) {
      const startedAt = performance.now();
      server.run(...filled);
      times.push(performance.now() - startedAt);
    }
    figures.set(what, median(times));
  }
}

function oldCompletion(path: string): string {
  const database = new Database(path, { readonly: true });
  try {
    return String(database.prepare('SELECT completion_id FROM journal ORDER BY id LIMIT 1').pluck().get());
  } finally {
    database.close();
  }
}

async function main(size: Size): Promise<void> {
  await withHelpers(async (folder, { load, upstream }) => {
    const columns: Figures[] = [];
    for (const [name, each] of [['small', SMALL] as const, ['large', size] as const]) {
      const path = join(folder, `${name}.db`);
      const startedAt = performance.now();
      makeLargeState(path, each, showProgress);
      console.error(
        `made a file of ${each.rows.toLocaleString('en')} rows in ${Math.round((performance.now() - startedAt) / 1000)} s`,
      );
      columns.push(await measure(path, upstream, load));
    }
    const headings = [SMALL, size].map(({ keys, rows }) => `${shown(keys)} keys, ${shown(rows)} requests`);
    print(headings, columns);
  });
}

async function compareCrowds(many: Crowd): Promise<void> {
  await withHelpers(async (folder, { upstream }) => {
    const servers = [];
    for (const [name, crowd] of [['few', FEW] as const, ['many', many] as const]) {
      const path = join(folder, `${name}.db`);
      const server = await gateway({ name, checkout: CHECKOUT, settings: { state: path } }, upstream.port);
      servers.push(gather(server, path, crowd));
    }
    const headings = servers.map(({ crowd }) => `${shown(crowd.users)} users, ${shown(crowd.groups)} groups`);
    // The generator in C cannot name end users, and what loads both must be the same.
    const load = await Load.start(undefined);
    try {
      print(headings, await measureCrowds(servers, load));
    } finally {
      await load.stop();
    }
  });
}

async function withHelpers(work: (folder: string, helpers: Helpers) => Promise<void>): Promise<void> {
  const helpers = await startHelpers();
  try {
    await inFolder((folder) => work(folder, helpers));
  } finally {
    await Promise.all([helpers.load.stop(), helpers.upstream.stop()]);
  }
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'inf-gw-scale-'));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function shown(value: number | undefined): string {
  return value === undefined ? '' : value.toLocaleString('en', { maximumFractionDigits: 0 });
}

function print(headings: readonly string[], [small, large]: readonly Figures[]): void {
  console.log(`| | ${headings.join(' | ')} |`);
  console.log('|---|---:|---:|');
  const labels = new Set([...(small?.keys() ?? []), ...(large?.keys() ?? [])]);
  for (const what of labels) console.log(`| ${what} | ${shown(small?.get(what))} | ${shown(large?.get(what))} |`);
}

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '100000' },
    rows: { type: 'string', default: '10000000' },
    users: { type: 'string' },
    groups: { type: 'string', default: '1000' },
    audit: { type: 'string' },
  },
});
if (values.audit !== undefined)
  await inFolder((folder) => measureAudits(folder, CHECKOUT, Number(values.audit), showProgress));
else if (values.users === undefined) await main({ keys: Number(values.keys), rows: Number(values.rows) });
else await compareCrowds({ users: Number(values.users), groups: Number(values.groups) });
