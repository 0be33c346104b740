/** One race: clients of all gateways compete for what a limit of one key admits. */
import { allowanceFor } from '../races/allowance.ts';
import { type Answer, RaceClient } from '../races/client.ts';
import { type Attempt, Host } from '../races/host.ts';
import { LIMITS, type Limit } from '../races/plan.ts';
import { chat } from '../support/gateway.ts';
import type { Random } from '../support/random.ts';
import { rawCompletion } from '../support/raw.ts';
import type { TestKey } from '../support/state.ts';
import type { Cluster, Row } from './cluster.ts';
import type { Figures } from './figures.ts';
import { mostAtOnce, mostWithin } from './timeline.ts';

export { LIMITS };

const CLIENTS_PER_NODE = 40;
const WINDOW_MS = 60_000;
/** A race ends after this multiple of the planned attempts, even if something is still missing. */
const MOST_TIMES_PLANNED = 20;

/** How many requests the limit admits in all, or at once. */
const SIZES: Readonly<Record<Limit, number>> = {
  rpm: 100,
  tpm: 100,
  concurrency: 20,
  spend: 100,
  credit: 100,
  budget: 100,
};

const REFUSALS: Readonly<Record<Limit, RegExp>> = {
  rpm: /^429 rate_limited$/,
  tpm: /^429 rate_limited$/,
  concurrency: /^429 rate_limited$/,
  spend: /^(?:429 rate_limited|402 spend_limit_reached)$/,
  credit: /^(?:429 rate_limited|402 insufficient_credit)$/,
  budget: /^(?:429 rate_limited|402 spend_limit_reached)$/,
};

/** Sends that many requests, and adds to the figures what deviates. */
export async function race(
  cluster: Cluster,
  limit: Limit,
  attempts: number,
  random: Random,
  figures: Figures,
): Promise<void> {
  const outputTokens = random.between(1, 400);
  const declared = { declaredTokens: outputTokens, slack: random.fraction() };
  const { limits, budgets, balanceNanos } = allowanceFor(limit, SIZES[limit], declared);
  const [key] = (await cluster.newKeys([{ ...limits, budgets }])) as [TestKey];
  const before = limit === 'credit' ? await setBalance(cluster, balanceNanos) : undefined;
  const racers = new Racers(cluster, limit, key, outputTokens, random);
  const tookMs = await racers.run(attempts);
  await cluster.settled();
  if (before !== undefined) await setBalance(cluster, before);
  const { host, admitted } = racers;
  const faults = [
    ...racers.faults,
    ...host.deviations,
    ...faultsInCounts({
      limit,
      size: SIZES[limit],
      rows: await cluster.rows([key]),
      admitted,
      arrivals: host.arrivals,
      peak: host.peak,
      tookMs,
    }),
    ...(await cluster.faults()),
  ];
  figures.deviations.push(...faults.map((text) => `race for ${limit}: ${text}`));
  figures.count(`races for ${limit}`);
  figures.count('racing requests', attempts);
  figures.count('racing requests admitted', admitted);
}

/** The clients of a race, and their host. */
class Racers {
  readonly host: Host;
  readonly faults: string[] = [];
  admitted = 0;
  readonly #cluster: Cluster;
  readonly #limit: Limit;
  readonly #key: TestKey;
  readonly #outputTokens: number;
  readonly #random: Random;
  readonly #sent = new Map<string, Attempt>();

  constructor(cluster: Cluster, limit: Limit, key: TestKey, outputTokens: number, random: Random) {
    this.#cluster = cluster;
    this.#limit = limit;
    this.#key = key;
    this.#outputTokens = outputTokens;
    this.#random = random;
    const size = SIZES[limit];
    const isForSlots = limit === 'concurrency';
    this.host = new Host({
      random,
      batch: isForSlots ? size : 1,
      mayBeSmaller: !isForSlots,
      mostRefusals: isForSlots ? cluster.nodes.length * CLIENTS_PER_NODE - size : 0,
      attempt: (name) => this.#sent.get(name),
      boundFor: () => (isForSlots ? size : Number.POSITIVE_INFINITY),
      onArrival: () => {},
      // That one too many is on its way is seen in the journal.
      areAllHere: () => true,
    });
  }

  /** Returns how long it took, in milliseconds. */
  async run(attempts: number): Promise<number> {
    const { nodes, upstream } = this.#cluster;
    upstream.follow((call) => this.host.receive(call));
    const startedAtMs = performance.now();
    const drivers = nodes.flatMap(({ port }) =>
      Array.from({ length: CLIENTS_PER_NODE }, () => this.#drive(port, attempts)),
    );
    await Promise.all(drivers);
    return performance.now() - startedAtMs;
  }

  async #drive(port: number, attempts: number): Promise<void> {
    const client = await RaceClient.open(port);
    while (this.#goesOn(attempts)) {
      const name = `attempt-${this.#sent.size + 1}`;
      const stream = this.#random.chance(0.5);
      this.#sent.set(name, { ...ATTEMPT, name, stream, outputTokens: this.#outputTokens });
      const body = chat({ user: name, stream, max_tokens: this.#outputTokens });
      this.#take(await client.send(rawCompletion(this.#key, body)));
    }
    client.leave();
    this.host.drain();
  }

  /** In a race for slots, within reason, until all of them were seen taken. */
  #goesOn(attempts: number): boolean {
    if (this.#sent.size < attempts) return true;
    const isSeen = this.#limit !== 'concurrency' || this.host.peak >= SIZES.concurrency;
    return !isSeen && this.#sent.size < MOST_TIMES_PLANNED * attempts;
  }

  #take({ status, text }: Answer): void {
    if (status === 200) {
      this.admitted++;
      return;
    }
    const refusal = `${status} ${/"code":"(\w+)"/.exec(text)?.[1]}`;
    if (!REFUSALS[this.#limit].test(refusal)) this.faults.push(`a client got ${text}`);
    this.host.refused();
  }
}

const ATTEMPT = { declares: true, leaves: false, afterChange: false };

interface Outcome {
  readonly limit: Limit;
  readonly size: number;
  readonly rows: readonly Row[];
  readonly admitted: number;
  readonly arrivals: number;
  readonly peak: number;
  readonly tookMs: number;
}

function faultsInCounts({ limit, size, rows, admitted, arrivals, peak, tookMs }: Outcome): string[] {
  const faults: string[] = [];
  const expect = (what: string, actual: number, expected: number) => {
    if (actual !== expected) faults.push(`${what}: ${actual} instead of ${expected}`);
  };
  expect('requests that the host saw', arrivals, admitted);
  expect('rows', rows.length, admitted);
  expect('rows as the host reported', rows.filter(({ source }) => source === 'reported').length, admitted);
  if (limit === 'concurrency') {
    expect('requests at the host at once', peak, size);
    if (mostAtOnce(rows) > size) faults.push(`${mostAtOnce(rows)} requests were open at once instead of ${size}`);
  } else if (limit === 'rpm') {
    expect('requests admitted within a minute', mostWithin(rows, WINDOW_MS), size);
  } else if (limit !== 'tpm' || tookMs < WINDOW_MS) {
    expect('requests admitted', admitted, size);
  }
  return faults;
}

/** Sets the balance, and returns what it was. */
function setBalance(cluster: Cluster, balanceNanos: bigint): Promise<bigint> {
  return cluster.operate(async ({ account }) => {
    const { balanceNanos: before } = await account.balance();
    await account.enter(balanceNanos - before, 'for a race', Date.now());
    return before;
  });
}
