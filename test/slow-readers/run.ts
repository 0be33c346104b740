/**
 * Clients that stop reading, long form: `npm run test:slow-readers [-- --readers N] [--each MB]`.
 * Exits with status 1 if the process grows by more than it may, or anything else deviates.
 */
import { parseArgs } from 'node:util';
import { type RunScope, runToEnd } from '../support/run-scope.ts';
import { stopReading } from './trial.ts';

const BYTES_PER_MB = 1_000_000;
/** The most that 200 readers may cost. */
const MOST_GROWTH_MB = 64;

async function main(scope: RunScope): Promise<boolean> {
  const { values } = parseArgs({
    options: { readers: { type: 'string', default: '200' }, each: { type: 'string', default: '50' } },
  });
  const [readers, each] = [Number(values.readers), Number(values.each)];
  const result = await stopReading(scope, { readers, bytesEach: each * BYTES_PER_MB });
  const deviations = [...result.deviations];
  const growth = (result.memoryAtMost - result.memoryBefore) / BYTES_PER_MB;
  if (growth > MOST_GROWTH_MB) deviations.push(`the process grew by more than ${MOST_GROWTH_MB} MB`);
  show({
    'readers that stop reading': readers,
    'host has for them, MB': readers * each,
    'host could send meanwhile, MB': result.pulledBytes / BYTES_PER_MB,
    'in use before, MB': result.usedBefore / BYTES_PER_MB,
    'in use meanwhile, MB': result.usedAfter / BYTES_PER_MB,
    'in use per reader, KB': (result.usedAfter - result.usedBefore) / readers / 1_000,
    'memory before, MB': result.memoryBefore / BYTES_PER_MB,
    'memory at most, MB': result.memoryAtMost / BYTES_PER_MB,
    'growth, MB': growth,
    deviations: deviations.length,
  });
  for (const text of deviations) console.error(text);
  return deviations.length === 0;
}

function show(figures: Readonly<Record<string, number>>): void {
  for (const [name, figure] of Object.entries(figures)) {
    console.log(name.padEnd(36) + figure.toLocaleString('en', { maximumFractionDigits: 1 }).padStart(12));
  }
}

await runToEnd(main);
