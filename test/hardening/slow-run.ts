/**
 * Slow clients in numbers: `npm run test:slow [-- --connections N] [--only TEXT]`. Needs
 * slowhttptest, and Linux. Exits with status 1 if a connection lived too long, or another client
 * was not served.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { Workplace } from '../support/cli.ts';
import { type RunScope, runToEnd } from '../support/run-scope.ts';
import { SERVER_LINE } from '../support/tested-server.ts';
import { until } from '../support/wait.ts';
import { ATTACKS, type Attack, IDLE_S, REQUEST_S, type Target } from './attacks.ts';
import { Watch } from './watch.ts';

/** Many models make a list that takes long to read. */
const MODELS = Array.from({ length: 1500 }, (_, index) => `${'x'.repeat(195)}${index}: { input: 0, output: 0 }`);
const CONFIG = `listen: 127.0.0.1:0
${SERVER_LINE}
state: ./state.db
tiers: { standard: { rpm: 100000, models_rpm: 1000000, concurrency: 10000 } }
timeouts: { request: ${REQUEST_S}s, idle: ${IDLE_S}s }
providers: { mock: { kind: mock, models: { echo: { input: 0, output: 0 }, ${MODELS.join(', ')} } } }
`;
const COLUMNS = [
  'attack',
  'connections',
  'longest',
  'bound',
  'probes',
  'failed',
  'slowest',
  'requests',
  'failed',
  'slowest',
];

function line(cells: readonly (string | number)[]): string {
  return cells.map((cell, index) => (index === 0 ? String(cell).padEnd(30) : String(cell).padStart(11))).join('');
}

/** Resolves with its output. Throws if it cannot be started. */
async function slowhttptest(options: readonly string[]): Promise<string> {
  const child = spawn('slowhttptest', ['-v', '0', ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  await once(child, 'close');
  if (text.includes('Error:')) throw new Error(text);
  return text;
}

/** True if there are no deviations. */
async function run(attack: Attack, target: Target, key: string): Promise<boolean> {
  const watch = new Watch(target.url, key);
  await slowhttptest(attack.options(target));
  // The gateway closes the connections that the attackers left as soon as it notices.
  await until(() => watch.connections <= 2);
  await watch.end();
  const { probes, completions, mostConnections, longestLifeMs } = watch;
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const tallies = [probes, completions].flatMap((tally) => [
    tally.count,
    tally.failed,
    `${Math.round(tally.slowestMs)} ms`,
  ]);
  console.log(line([attack.name, mostConnections, seconds(longestLifeMs), seconds(attack.boundS * 1000), ...tallies]));
  const wasAttacked = !attack.isHeld || mostConnections >= target.connections;
  return wasAttacked && longestLifeMs <= attack.boundS * 1000 && probes.failed + completions.failed === 0;
}

async function main(scope: RunScope): Promise<boolean> {
  const { values } = parseArgs({
    options: { connections: { type: 'string', default: '1000' }, only: { type: 'string', default: '' } },
  });
  try {
    await slowhttptest(['-h']);
  } catch {
    console.error('slowhttptest is not installed: apt-get install slowhttptest');
    return false;
  }
  const place = new Workplace(scope, CONFIG);
  const [slow, innocent] = [await place.createKey('slow'), await place.createKey('innocent')];
  const serving = await place.serve();
  console.log(line(COLUMNS));
  let isPassed = true;
  for (const attack of ATTACKS.filter(({ name }) => name.includes(values.only))) {
    const connections = Math.ceil(Number(values.connections) * attack.share);
    const target = { url: serving.url, key: slow.key, connections };
    isPassed = (await run(attack, target, innocent.key)) && isPassed;
  }
  return isPassed;
}

await runToEnd(main);
