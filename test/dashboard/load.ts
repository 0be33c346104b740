/**
 * What an open dashboard costs the gateway: rounds of full load with it closed and open in turn.
 */
import { join } from 'node:path';
import { startHelpers } from '../../bench/helpers.ts';
import { UPSTREAM_MODEL } from '../../bench/payloads.ts';
import { nodeProgram, startServer } from '../../bench/start-server.ts';
import { PROGRAM } from '../support/cli.ts';
import { freePort } from '../support/ports.ts';
import type { RunScope } from '../support/run-scope.ts';
import { median } from '../support/statistics.ts';
import { Desk, LARGE } from '../support/terminal.ts';
import { type Cost, MOST_LOST_PERCENT, MOST_MEMORY_MB } from './costs.ts';
import { cpuMs, memoryMb } from './process.ts';

const CONNECTIONS = 64;
const ROUND_MS = 2_000;
/** Lets the dashboard start up, which takes more than running it. */
const SETTLE_MS = 500;
const WARM_UP_MS = 4_000;
/** Views by the key that opens them. */
const VIEWS = { Overview: '1', Keys: '2', Live: '3' } as const;

interface Round {
  readonly perSecond: number;
  /** CPU time of the gateway for each request. */
  readonly cpuMicroseconds: number;
  /** CPU time of the dashboard, as a share of one core. */
  readonly dashboardShare: number;
}

interface Pair {
  readonly open: Round;
  readonly closed: Round;
}

export async function measureLoad(scope: RunScope, rounds: number): Promise<Cost[]> {
  const [{ load, upstream }, port] = await Promise.all([startHelpers(), freePort()]);
  scope.after(() => Promise.all([load.stop(), upstream.stop()]).then(() => {}));
  const desk = await Desk.open(scope, LARGE, configText(port, upstream.port));
  const { place } = desk;
  const limits = ['--rpm', '1000000000', '--tpm', '1000000000000', '--concurrency', '100000'];
  const { key } = await place.json<{ key: string }>('keys', 'create', 'bench', ...limits);
  await place.json('credit', 'add', '1000000');
  const config = join(place.directory, 'config.yaml');
  const access = { port, key, headers: [] };
  const program = nodeProgram([PROGRAM, 'serve', '--config', config], join(place.directory, 'log'));
  const { process: gateway } = await startServer(program, access);
  scope.after(() => gateway.stop());

  const round = async (milliseconds: number, pid?: number): Promise<Round> => {
    const before = { gateway: (await gateway.usage()).cpuMicroseconds, dashboard: pid === undefined ? 0 : cpuMs(pid) };
    const arrivals = { kind: 'closed' as const, connections: CONNECTIONS };
    const { answers, seconds } = await load.run({ ...access, arrivals, length: { milliseconds }, stream: false });
    const { cpuMicroseconds } = await gateway.usage();
    const dashboardMs = pid === undefined ? 0 : cpuMs(pid) - before.dashboard;
    return {
      perSecond: answers / seconds,
      cpuMicroseconds: (cpuMicroseconds - before.gateway) / answers,
      dashboardShare: dashboardMs / (10 * seconds),
    };
  };
  await round(WARM_UP_MS);
  const costs: Cost[] = [];
  let memory = 0;
  for (const [view, press] of Object.entries(VIEWS)) {
    const pairs: Pair[] = [];
    // Each open round is between two closed ones, since a machine is not equally fast all the time.
    let before = await round(ROUND_MS);
    for (let i = 0; i < rounds; i++) {
      await desk.dashboard();
      await desk.press(press);
      await round(SETTLE_MS, desk.pid);
      const open = await round(ROUND_MS, desk.pid);
      memory = Math.max(memory, memoryMb(desk.pid));
      await desk.press('q');
      await desk.left();
      await desk.command('clear');
      const after = await round(ROUND_MS);
      pairs.push({ open, closed: meanOf(before, after) });
      before = after;
    }
    const middle = (read: (pair: Pair) => number) => median(pairs.map(read));
    const lost = middle(({ closed, open }) => 100 * (1 - open.perSecond / closed.perSecond));
    const more = middle(({ closed, open }) => 100 * (open.cpuMicroseconds / closed.cpuMicroseconds - 1));
    costs.push(
      { what: `requests a second, closed`, value: middle(({ closed }) => closed.perSecond), unit: '' },
      { what: `${view}: throughput lost`, value: lost, most: MOST_LOST_PERCENT, unit: '%' },
      { what: `${view}: more CPU of the gateway for a request`, value: more, unit: '%' },
      { what: `${view}: CPU of the dashboard`, value: middle(({ open }) => open.dashboardShare), unit: '%' },
    );
  }
  costs.push({ what: 'memory of the dashboard', value: memory, most: MOST_MEMORY_MB, unit: 'MB' });
  return costs;
}

function meanOf(a: Round, b: Round): Round {
  return {
    perSecond: (a.perSecond + b.perSecond) / 2,
    cpuMicroseconds: (a.cpuMicroseconds + b.cpuMicroseconds) / 2,
    dashboardShare: 0,
  };
}

function configText(port: number, upstreamPort: number): string {
  const bench = {
    kind: 'openai',
    base_url: `http://127.0.0.1:${upstreamPort}/v1`,
    api_key: 'bench-credential',
    models: { [UPSTREAM_MODEL]: { input: 0.15, cached_input: 0.075, output: 0.6, max_output: 16_384 } },
  };
  return JSON.stringify({
    listen: `127.0.0.1:${port}`,
    state: './state.db',
    log: { level: 'warn' },
    providers: { bench },
  });
}
