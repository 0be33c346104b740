/** Runs the workloads on all servers in turn. The servers keep running in between. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Measured } from '../children.ts';
import type { Usage } from '../messages.ts';
import { checkSample, type Sample, type Workload } from '../workloads.ts';
import { type Bench, floorOf, type Subject } from './bench.ts';

/** An overloaded server needs a while to recover. */
const RECOVERY_MS = 2_000;

interface Target extends Subject {
  /** Undefined for the upstream, which is there only for comparison. */
  readonly process: Measured | undefined;
}

/** `isVariant` is true for the name of a gateway that differs only in a setting. */
export async function measureLoads(
  bench: Bench,
  plan: readonly Workload[],
  warmUpMs: number,
  isVariant: (name: string) => boolean,
): Promise<void> {
  if (plan.length === 0) return;
  const started = await Promise.all(
    bench.servers.map(async (server) => ({ ...server, process: (await bench.start(server)).process })),
  );
  const targets: readonly Target[] = [{ ...floorOf(bench.upstream), process: undefined }, ...started];
  bench.report('warming up');
  const shortPlan = plan.map((workload) => ({ ...workload, length: { milliseconds: warmUpMs / plan.length } }));
  for (const target of targets) for (const workload of shortPlan) await sample(bench, workload, target);
  for (let round = 0; round < bench.lengths.rounds; round++) {
    for (const workload of plan) {
      bench.report(`${workload.name}, round ${round + 1} of ${bench.lengths.rounds}`);
      const participants = targets.filter(({ name }) => workload.forVariants || !isVariant(name));
      for (const target of bench.inTurn(participants, round)) await measure(bench, workload, target);
    }
  }
  for (const { process } of started) await process.stop();
}

async function measure(bench: Bench, workload: Workload, target: Target): Promise<void> {
  const taken = await sample(bench, workload, target);
  for (const figure of workload.figures) {
    const value = taken && figure.read(taken);
    // Some figures do not exist for the upstream.
    if (taken === undefined || value !== undefined) bench.rows.add(workload.name, figure, target.name, value);
  }
}

async function sample(bench: Bench, workload: Workload, target: Target): Promise<Sample | undefined> {
  const taken = await bench.attempt(workload.name, target, () => take(bench, workload, target));
  if (taken === undefined) await pause(RECOVERY_MS);
  return taken;
}

async function take(bench: Bench, workload: Workload, target: Target): Promise<Sample> {
  const { load, upstream } = bench;
  const { arrivals, length, stream } = workload;
  const { name, port, key, headers, process } = target;
  if (stream !== undefined) await upstream.shapeStreams(stream);
  const look = () => Promise.all([process?.usage(), load.usage(), upstream.usage()]);
  const [before, ...helpersBefore] = await look();
  const result = await load.run({ port, key, headers, arrivals, length, stream: stream !== undefined });
  const [usage, ...helpers] = await look();
  checkSample(workload, result);
  bench.countAnswers(name, result.answers);
  return {
    result,
    usage,
    cpuMicroseconds: usage && before && usage.cpuMicroseconds - before.cpuMicroseconds,
    helpersMicroseconds: cpuOf(helpers) - cpuOf(helpersBefore),
  };
}

function cpuOf(usages: readonly Usage[]): number {
  return usages.reduce((sum, { cpuMicroseconds }) => sum + cpuMicroseconds, 0);
}
