/** A whole benchmark: starts its processes, puts all servers to all of the work that was asked for, and checks the books. */
import { isVariant } from './contestants.ts';
import { Load, Upstream } from './helpers.ts';
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
): Promise<Rows> {
  const isAsked = ({ name }: { name: string }) => name.includes(only);
  const held = holdings.filter(isAsked);
  const loads = workloads(lengths.scale).filter(isAsked);
  const isStartAsked = isAsked({ name: PROCESS });
  if (held.length + loads.length === 0 && !isStartAsked) throw new Error(`nothing has "${only}" in its name`);
  const [load, upstream] = await Promise.all([Load.start(), Upstream.start()]);
  try {
    const servers = await serversOf(upstream.port);
    const bench = new Bench({ load, upstream, servers, rows: new Rows(), lengths });
    if (isStartAsked) await measureStarts(bench);
    // What a stream costs does not depend on the settings that the variants are about.
    const usual = servers.filter(({ name }) => !isVariant(name));
    await measureHolds(bench, held, usual);
    await measureLoads(bench, loads, warmUpMs, isVariant);
    bench.audit();
    bench.tell('done');
    return bench.rows;
  } finally {
    await Promise.all([load.stop(), upstream.stop()]);
  }
}

/** Without this a signal would leave processes and state files behind. */
export function endOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
}
