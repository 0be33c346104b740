/**
 * A short benchmark to run with every change: the CPU time of a fixed number of requests, relative
 * to the bare proxies in the same run. It informs and does not judge: on a busy machine CPU time
 * varies less than speed, but it still varies. `npm run bench:guard`.
 */
import { GATEWAY, usualServers } from './contestants.ts';
import { DOCUMENT, documented } from './document.ts';
import { startHelpers } from './helpers.ts';
import { Bench } from './phases/bench.ts';
import { measureLoads } from './phases/loads.ts';
import { type Row, Rows } from './rows.ts';
import { type Column, ratioColumn, tableOf, valueColumn } from './table.ts';
import { BARE_PROXY, BAREST_PROXY } from './targets.ts';
import { CPU_PER_EVENT, CPU_PER_REQUEST, closedName, FLOODS, USUAL_CONNECTIONS, workloads } from './workloads.ts';

const ROUNDS = 5;
/** Enough for V8 to compile most of the hot code. */
const WARM_UP_MS = 1_000;
const REQUESTS: Readonly<Record<string, number>> = { [closedName(USUAL_CONNECTIONS)]: 4_000, [FLOODS]: 80 };

const plan = workloads(1)
  .filter(({ name }) => Object.hasOwn(REQUESTS, name))
  .map((workload) => ({
    ...workload,
    length: { requests: REQUESTS[workload.name] ?? 0 },
    figures: workload.figures.filter(({ label }) => label === CPU_PER_REQUEST || label === CPU_PER_EVENT),
  }));

/** The figures of the last full run, for comparison. */
const usualColumn: Column = {
  head: `in ${DOCUMENT}`,
  cell: (row: Row) => documented('gateway', row.name, ratioColumn(GATEWAY, BAREST_PROXY).head) ?? '',
};

const { load, upstream } = await startHelpers();
try {
  const servers = await usualServers(upstream.port);
  const lengths = { rounds: ROUNDS, starts: 0, scale: 1 };
  const bench = new Bench({ load, upstream, servers, rows: new Rows(), lengths });
  await measureLoads(bench, plan, WARM_UP_MS, () => false);
  bench.audit();
  const columns = [
    ...[BARE_PROXY, BAREST_PROXY, GATEWAY].map(valueColumn),
    ...[BARE_PROXY, BAREST_PROXY].map((other) => ratioColumn(GATEWAY, other)),
    usualColumn,
  ];
  console.log(`\n${tableOf(bench.rows.all, columns)}`);
} finally {
  await Promise.all([load.stop(), upstream.stop()]);
}
