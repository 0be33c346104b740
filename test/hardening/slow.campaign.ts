/** Slow clients in numbers. Needs slowhttptest, and Linux. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { campaign, chosen, showRow } from '../support/campaign.ts';
import { Workplace } from '../support/cli.ts';
import { until } from '../support/wait.ts';
import { ATTACKS, type Attack, IDLE_S, REQUEST_S, type Target } from './attacks.ts';
import { Watch } from './watch.ts';

/** Many models make a list that takes long to read. */
const MODELS = Array.from({ length: 1500 }, (_, index) => `${'x'.repeat(195)}${index}: { input: 0, output: 0 }`);
const CONFIG = `listen: 127.0.0.1:0
state: ./state.db
tiers: { standard: { rpm: 100000, models_rpm: 1000000, concurrency: 10000 } }
timeouts: { request: ${REQUEST_S}s, idle: ${IDLE_S}s }
providers: { mock: { kind: mock, models: { echo: { input: 0, output: 0 }, ${MODELS.join(', ')} } } }
`;
const COLUMNS = ['connections', 'longest', 'bound', 'probes', 'failed', 'slowest', 'requests', 'failed', 'slowest'];

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
  showRow(attack.name, [mostConnections, seconds(longestLifeMs), seconds(attack.boundS * 1000), ...tallies]);
  const wasAttacked = !attack.isHeld || mostConnections >= target.connections;
  return wasAttacked && longestLifeMs <= attack.boundS * 1000 && probes.failed + completions.failed === 0;
}

export default campaign({
  proves: 'no slow connection lives longer than its bound, and other clients are served meanwhile',
  options: { connections: 1_000, only: '' },
  async run(course, { connections, only }) {
    await slowhttptest(['-h']).catch(() => {
      throw new Error('slowhttptest is not installed: apt-get install slowhttptest');
    });
    const place = new Workplace(course, CONFIG);
    const [slow, innocent] = [await place.createKey('slow'), await place.createKey('innocent')];
    const serving = await place.serve();
    const attacks = chosen(ATTACKS, only, ({ name }) => name);
    showRow('attack', COLUMNS);
    for (const attack of attacks) {
      const target = { url: serving.url, key: slow.key, connections: Math.ceil(connections * attack.share) };
      if (!(await run(attack, target, innocent.key))) course.deviate(`${attack.name}: beyond its bounds`);
    }
    return `${attacks.length} attacks`;
  },
});
