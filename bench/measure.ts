/**
 * A whole benchmark: starts the processes, runs the selected workloads on all servers, and audits
 * their accounts.
 */
import { isVariant } from './contestants.ts';
import { startHelpers } from './helpers.ts';
import type { Options } from './options.ts';
import { Bench } from './phases/bench.ts';
import { holdings, measureHolds } from './phases/holds.ts';
import { measureLoads } from './phases/loads.ts';
import { measureStarts, PROCESS } from './phases/starts.ts';
import { Rows } from './rows.ts';
import type { Server } from './targets.ts';
import { workloads } from './workloads.ts';

export async function measure(
  { lengths, only, warmUpMs }: Options,
  serversOf: (upstreamPort: number) => Promise<Server[]>,
): Promise<{ rows: Rows; areNative: boolean }> {
  const isSelected = ({ name }: { name: string }) => name.includes(only);
  const held = holdings.filter(isSelected);
  const loads = workloads(lengths.scale).filter(isSelected);
  const isStartSelected = isSelected({ name: PROCESS });
  if (held.length + loads.length === 0 && !isStartSelected) throw new Error(`no workload has "${only}" in its name`);
  const { load, upstream, areNative } = await startHelpers();
  try {
    const servers = await serversOf(upstream.port);
    const bench = new Bench({ load, upstream, servers, rows: new Rows(), lengths });
    if (isStartSelected) await measureStarts(bench);
    // The cost of a stream does not depend on the settings in which the variants differ.
    const usual = servers.filter(({ name }) => !isVariant(name));
    await measureHolds(bench, held, usual);
    await measureLoads(bench, loads, warmUpMs, isVariant);
    bench.audit();
    bench.report('done');
    return { rows: bench.rows, areNative };
  } finally {
    await Promise.all([load.stop(), upstream.stop()]);
  }
}

/** Exits on signals, so that no processes and state files are left behind. */
export function endOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
}
