/**
 * The benchmark: the gateway beside a bare node:http + undici proxy, on the same machine, in the same run, turn by
 * turn. `npm run bench -- --help` says what it takes.
 */
import { cpus, tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Load, type Started, Upstream } from './processes.ts';
import { type Columns, type Row, tableOf } from './report.ts';
import { BARE_PROXY, BAREST_PROXY, gateway, proxy, type Server, type Target } from './targets.ts';
import { checkSample, type Figure, type Sample, type Workload, workloads } from './workloads.ts';

const HELP = `npm run bench [-- --quick] [--rounds N] [--only TEXT] [--compare CHECKOUT]
  --quick             two short rounds, in less than 20 seconds
  --rounds N          more or fewer rounds than the usual 5
  --only TEXT         only the workloads whose name has this text in it
  --compare CHECKOUT  measure a second, built checkout of the gateway as well`;

const FLOOR = 'upstream alone';
const GATEWAY = 'gateway';
/** Gateways that differ from the usual one in a setting. */
const VARIANTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'gateway, log: info': { log: { level: 'info' } },
  'gateway, durability: crash': { durability: 'crash' },
  'gateway, threads: 2': { threads: 2 },
};
const OTHER_GATEWAY = 'other gateway';
const CHECKOUT = fileURLToPath(new URL('..', import.meta.url));
/** What a fresh process does besides its first request is over by then. */
const IDLE_MS = 300;
const BYTES_PER_MB = 1024 * 1024;

interface Options {
  readonly rounds: number;
  readonly starts: number;
  /** Of the usual lengths. */
  readonly scale: number;
  readonly warmUpMs: number;
  readonly isQuick: boolean;
  readonly only: string;
  readonly compare: string | undefined;
}

function optionsOf(words: string[]): Options | undefined {
  const { values } = parseArgs({
    args: words,
    options: {
      help: { type: 'boolean' },
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      only: { type: 'string', default: '' },
      compare: { type: 'string' },
    },
  });
  if (values.help) return undefined;
  const { quick: isQuick, only, compare } = values;
  const rounds = Math.max(1, Number.parseInt(values.rounds ?? (isQuick ? '2' : '5'), 10));
  const lengths = isQuick ? { starts: 1, scale: 0.3, warmUpMs: 400 } : { starts: 3, scale: 1, warmUpMs: 1_000 };
  return { rounds, ...lengths, isQuick, only, compare };
}

/** Collects values under a row's label and a target's name. */
class Rows {
  readonly #rows = new Map<string, Row & { readonly values: Map<string, number[]> }>();

  get all(): Row[] {
    return [...this.#rows.values()];
  }

  add(section: string, figure: Pick<Figure, 'label' | 'digits' | 'shows'>, target: string, value: number): void {
    const label = `${section}: ${figure.label}`;
    const row = this.#rows.get(label) ?? { ...figure, label, values: new Map<string, number[]>() };
    row.values.set(target, [...(row.values.get(target) ?? []), value]);
    this.#rows.set(label, row);
  }
}

class Benchmark {
  readonly rows = new Rows();
  readonly #load: Load;
  readonly #upstream: Upstream;
  readonly #servers: readonly Server[];
  readonly #answers = new Map<string, number>();

  constructor(load: Load, upstream: Upstream, servers: readonly Server[]) {
    this.#load = load;
    this.#upstream = upstream;
    this.#servers = servers;
  }

  /** How long each server takes until its first 200, and what it takes in memory when it has nothing to do. */
  async measureStarts(times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      for (const server of this.#servers) {
        const { helper, startUpMs } = await this.#start(server);
        this.#addTime(server.name, startUpMs);
        await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
        await this.#addMemory(server.name, 'idle memory, MB', helper);
        await helper.stop();
      }
    }
  }

  async measureLoads(plan: readonly Workload[], options: Options): Promise<void> {
    const started = await Promise.all(
      this.#servers.map(async (server) => ({ server, ...(await this.#start(server)) })),
    );
    const targets: Target[] = [
      { name: FLOOR, port: this.#upstream.port, key: '', helper: undefined },
      ...started.map(({ server: { name, port, key }, helper }) => ({ name, port, key, helper })),
    ];
    for (const target of targets) await this.#warmUp(target, plan, options.warmUpMs);
    for (let round = 0; round < options.rounds; round++) {
      // There and back again, so that nobody always comes first.
      const inTurn = round % 2 === 0 ? targets : targets.toReversed();
      for (const workload of plan) for (const target of inTurn) await this.#measure(workload, target);
    }
    for (const { server, helper } of started) {
      await this.#addMemory(server.name, 'memory after all that, MB', helper);
      await helper.stop();
      const fault = server.audit(this.#answers.get(server.name) ?? 0);
      if (fault !== undefined) throw new Error(fault);
    }
  }

  async #start(server: Server): Promise<Started> {
    const started = await server.start();
    this.#countAnswers(server.name, 1);
    return started;
  }

  async #warmUp(target: Target, plan: readonly Workload[], milliseconds: number): Promise<void> {
    for (const workload of plan) await this.#sample({ ...workload, durationMs: milliseconds / plan.length }, target);
  }

  async #measure(workload: Workload, target: Target): Promise<void> {
    if (Object.hasOwn(VARIANTS, target.name) && !workload.forVariants) return;
    const sample = await this.#sample(workload, target);
    for (const figure of workload.figures) {
      const value = figure.read(sample);
      if (value !== undefined) this.rows.add(workload.name, figure, target.name, value);
    }
  }

  async #sample(workload: Workload, target: Target): Promise<Sample> {
    const { port, key, helper } = target;
    const { arrivals, durationMs, stream } = workload;
    if (stream !== undefined) await this.#upstream.shapeStreams(stream);
    const before = await helper?.usage();
    const result = await this.#load.run({ port, key, arrivals, durationMs, stream: stream !== undefined });
    const after = await helper?.usage();
    const cpuMicroseconds = before && after && after.cpuMicroseconds - before.cpuMicroseconds;
    checkSample(workload, { result, cpuMicroseconds });
    this.#countAnswers(target.name, result.answers);
    return { result, cpuMicroseconds };
  }

  #countAnswers(name: string, answers: number): void {
    this.#answers.set(name, (this.#answers.get(name) ?? 0) + answers);
  }

  #addTime(name: string, milliseconds: number): void {
    this.rows.add('process', { label: 'start to first 200, ms', digits: 0, shows: 'value' }, name, milliseconds);
  }

  async #addMemory(name: string, label: string, helper: Target['helper']): Promise<void> {
    const usage = await helper?.usage();
    if (usage !== undefined) {
      this.rows.add('process', { label, digits: 0, shows: 'value' }, name, usage.rssBytes / BYTES_PER_MB);
    }
  }
}

async function serversOf(options: Options, upstreamPort: number): Promise<Server[]> {
  const servers = [
    await proxy(BARE_PROXY, upstreamPort),
    await proxy(BAREST_PROXY, upstreamPort),
    await gateway({ name: GATEWAY, checkout: CHECKOUT }, upstreamPort),
  ];
  if (options.compare !== undefined) {
    servers.push(await gateway({ name: OTHER_GATEWAY, checkout: options.compare }, upstreamPort));
  } else if (!options.isQuick) {
    for (const [name, settings] of Object.entries(VARIANTS)) {
      servers.push(await gateway({ name, checkout: CHECKOUT, settings }, upstreamPort));
    }
  }
  return servers;
}

async function main(options: Options): Promise<void> {
  const plan = workloads(options.scale).filter((workload) => workload.name.includes(options.only));
  if (plan.length === 0) throw new Error(`no workload has ${JSON.stringify(options.only)} in its name`);
  const [load, upstream] = await Promise.all([Load.start(), Upstream.start()]);
  const servers = await serversOf(options, upstream.port);
  try {
    const benchmark = new Benchmark(load, upstream, servers);
    if (options.only === '') await benchmark.measureStarts(options.starts);
    await benchmark.measureLoads(plan, options);
    const [{ name: yardstick } = { name: '' }, ...gateways] = servers;
    const columns: Columns = { floor: FLOOR, yardstick, gateways: gateways.map(({ name }) => name) };
    const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, ${process.platform}, Node ${process.version}`;
    console.log(`${machine}; state files in ${tmpdir()}; medians of ${options.rounds} rounds.\n`);
    console.log(tableOf(benchmark.rows.all, columns));
  } finally {
    await Promise.all([load.stop(), upstream.stop()]);
  }
}

const options = optionsOf(process.argv.slice(2));
if (options === undefined) console.log(HELP);
else {
  // Without this a signal would leave processes and state files behind.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  await main(options);
}
