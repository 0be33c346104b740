/**
 * The cost of floods for a valid request: the CPU time of the gateway's main thread from sending the request until its response
 * has arrived. The most expensive request of each round counts. Needs Linux.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { campaign, chosen, showRow } from '../support/campaign.ts';
import { Workplace } from '../support/cli.ts';
import type { Serving } from '../support/serving.ts';
import { FLOODS, type Flood } from './floods.ts';

const CONFIG = `listen: 127.0.0.1:0
state: ./state.db
health: 127.0.0.1:0
metrics: 127.0.0.1:0
tiers: { standard: { rpm: 100000 } }
overload: { loop_delay: off }
providers: { mock: { kind: mock, models: { echo: { input: 0, output: 0 } } } }
`;
const FLOODER = fileURLToPath(new URL('./flooder.ts', import.meta.url));
/** Duration of a round, in which one request follows the other, in milliseconds. */
const WATCHED_MS = 1_000;
const MOST_MS = 20;
const NANOS_PER_MS = 1e6;
/** Until the code is compiled. */
const WARM_UP = 200;

/** CPU time of the main thread of a process so far, in milliseconds. */
function threadMs({ pid }: Serving): number {
  const [nanos = ''] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanos) / NANOS_PER_MS;
}

async function costOfChat(serving: Serving, key: string): Promise<number> {
  const before = threadMs(serving);
  const outcome = await serving.chatOutcome(key);
  if (outcome !== '200') throw new Error(`the valid request got ${outcome}`);
  return threadMs(serving) - before;
}

async function portOf(serving: Serving, where: Flood['where']): Promise<string> {
  if (where === 'clients') return new URL(serving.url).port;
  const { msg } = await serving.logged(where === 'health' ? /^health checks on / : /^metrics on /);
  return /:(\d+)\//.exec(msg)?.[1] as string;
}

/** The cost of the most expensive request of a round. */
async function costUnder(flood: Flood, serving: Serving, key: string, connections: number): Promise<number> {
  const args = [FLOODER, flood.name, await portOf(serving, flood.where), String(connections)];
  const flooder = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(flooder, 'close');
  await once(flooder.stdout, 'data');
  const endMs = performance.now() + WATCHED_MS;
  let mostMs = 0;
  while (performance.now() < endMs) mostMs = Math.max(mostMs, await costOfChat(serving, key));
  flooder.kill('SIGKILL');
  await closed;
  return mostMs;
}

const median = (figures: readonly number[]) => figures.toSorted((a, b) => a - b)[figures.length >> 1] as number;

export default campaign({
  proves: 'peers without a key delay a valid request by less than 20 ms of CPU time',
  options: { connections: 100, rounds: 9, only: '' },
  async run(course, { connections, rounds, only }) {
    const place = new Workplace(course, CONFIG);
    const { key } = await place.createKey('app');
    const serving = await place.serve();
    for (let n = 0; n < WARM_UP; n++) await costOfChat(serving, key);
    const quiet: number[] = [];
    for (let n = 0; n < rounds; n++) quiet.push(await costOfChat(serving, key));
    showRow('flood', ['median', 'most']);
    showRow('none', [median(quiet), Math.max(...quiet)]);
    const floods = chosen(FLOODS, only, ({ name }) => name);
    for (const flood of floods) {
      const costs: number[] = [];
      for (let n = 0; n < rounds; n++) costs.push(await costUnder(flood, serving, key, connections));
      showRow(flood.name, [median(costs), Math.max(...costs)]);
      if (median(costs) > MOST_MS) course.deviate(`${flood.name}: more than ${MOST_MS} ms`);
    }
    return `${floods.length} floods over ${connections} connections, in ms of CPU time`;
  },
});
