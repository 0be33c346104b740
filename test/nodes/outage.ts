/** What clients and operators see of gateways that cannot reach their database, and when it is back. */
import { setTimeout as pause } from 'node:timers/promises';
import { costNanos, INPUT_TOKENS } from '../races/allowance.ts';
import { type Answer, RaceClient } from '../races/client.ts';
import { chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import { chat } from '../support/gateway.ts';
import { rawCompletion } from '../support/raw.ts';
import type { TestKey } from '../support/state.ts';
import { until } from '../support/wait.ts';
import type { Cluster, Node } from './cluster.ts';
import type { Figures } from './figures.ts';

/** How the database goes, and comes back. */
interface Outage {
  readonly name: string;
  readonly isSilent: boolean;
  begin(cluster: Cluster): Promise<void>;
  end(cluster: Cluster): Promise<void>;
}

const OUTAGES: readonly Outage[] = [
  {
    name: 'crashed',
    isSilent: false,
    begin: ({ server }) => server.crash(),
    end: ({ server }) => server.restart(),
  },
  {
    name: 'silent',
    isSilent: true,
    begin: async ({ nodes }) => {
      for (const { link } of nodes) link.silence();
    },
    end: async ({ nodes }) => {
      for (const { link } of nodes) link.pass();
    },
  },
];

const OUTPUT_TOKENS = 7;
const USAGE = {
  prompt_tokens: INPUT_TOKENS,
  completion_tokens: OUTPUT_TOKENS,
  total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
};
/** Requests of this name wait at the host until they are released. */
const WAITING = 'waiting';
const ASK_MS = 200;

/** Every kind of outage once, on all gateways, each for so long at least. */
export async function meetOutage(cluster: Cluster, outageMs: number, figures: Figures): Promise<void> {
  for (const outage of OUTAGES) await new Meeting(cluster, figures, outage).run(outageMs);
}

class Meeting {
  readonly #cluster: Cluster;
  readonly #figures: Figures;
  readonly #outage: Outage;
  readonly #released = Promise.withResolvers<void>();

  constructor(cluster: Cluster, figures: Figures, outage: Outage) {
    this.#cluster = cluster;
    this.#figures = figures;
    this.#outage = outage;
  }

  async run(outageMs: number): Promise<void> {
    const { nodes, upstream } = this.#cluster;
    const [key] = (await this.#cluster.newKeys([{}])) as [TestKey];
    this.#follow();
    const waiting = nodes.flatMap((node) => [this.#ask(node, key, WAITING), this.#ask(node, key, WAITING, true)]);
    await upstream.call(waiting.length);
    const fromMs = performance.now();
    await this.#outage.begin(this.#cluster);
    await Promise.all(nodes.map((node) => this.#meet(node, key, fromMs)));
    const forwarded = upstream.calls.filter(({ body }) => !body.includes(WAITING)).length;
    // They end at the host while the database is away.
    this.#released.resolve();
    await pause(Math.max(0, fromMs + outageMs - performance.now()));
    await this.#outage.end(this.#cluster);
    const backAtMs = performance.now();
    await Promise.all(nodes.map((node) => this.#meetAgain(node, key, backAtMs)));
    const answers = await Promise.all(waiting);
    await this.#check(key, answers, forwarded);
  }

  #follow(): void {
    this.#cluster.upstream.follow(async (call) => {
      const isStream = call.body.includes('"stream":true');
      if (isStream) {
        call.stream();
        call.send(chunk('hi'));
      }
      if (call.body.includes(WAITING)) await this.#released.promise;
      if (!isStream) return call.answer(200, completion('hi', { usage: USAGE }));
      call.send(chunk('', 'stop') + usageChunk(USAGE) + DONE);
      call.end();
    });
  }

  async #ask(node: Node, key: TestKey, user: string, stream = false): Promise<Answer> {
    const client = await RaceClient.open(node.port);
    const answer = await client.send(rawCompletion(key, chat({ user, stream, max_tokens: OUTPUT_TOKENS })));
    client.leave();
    return answer;
  }

  /** The gateway refuses, says that it is not ready, and why. */
  async #meet(node: Node, key: TestKey, fromMs: number): Promise<void> {
    const { isSilent } = this.#outage;
    const ready = until(async () => !(await node.isReady())).then(() =>
      this.#figures.time(
        isSilent ? 'not ready after the link fell silent' : 'not ready after the database has gone',
        performance.now() - fromMs,
      ),
    );
    await this.#meetRefusals(node, key);
    await ready;
    await this.#meetRefusals(node, key);
    const { storage_fault: fault } = await node.place.json<{ storage_fault: string | null }>('status');
    if (!fault?.includes('the database')) this.#deviate(node, `status says ${fault}`);
    if (!node.serving.log.some(({ level, msg }) => level === 'error' && msg.includes('the database'))) {
      this.#deviate(node, 'the log does not say why');
    }
  }

  async #meetRefusals(node: Node, key: TestKey): Promise<void> {
    const sentAtMs = performance.now();
    const { status, text } = await this.#ask(node, key, 'refused');
    const bound = this.#outage.isSilent ? 'refused on a silent link' : 'refused while the database is gone';
    this.#figures.time(bound, performance.now() - sentAtMs);
    if (status !== 500 || !text.includes('"internal_error"')) this.#deviate(node, `a client got ${text}`);
  }

  /** The gateway serves without a restart. */
  async #meetAgain(node: Node, key: TestKey, backAtMs: number): Promise<void> {
    while ((await this.#ask(node, key, 'served')).status !== 200) await pause(ASK_MS);
    this.#figures.time('serving after the database has come back', performance.now() - backAtMs);
    await until(() => node.isReady());
  }

  async #check(key: TestKey, answers: readonly Answer[], forwarded: number): Promise<void> {
    const { nodes } = this.#cluster;
    await this.#cluster.settled();
    if (forwarded > 0) this.#deviate(undefined, `${forwarded} refused requests were forwarded`);
    for (const { status, text } of answers) {
      if (status !== 200 || text.includes('"error"')) this.#deviate(undefined, `a request in flight got ${text}`);
    }
    const rows = await this.#cluster.rows([key]);
    const right = rows.filter(
      ({ source, costNanos: cost }) => source === 'reported' && cost === costNanos(OUTPUT_TOKENS),
    );
    // Each gateway has served one more.
    const expected = answers.length + nodes.length;
    if (right.length !== expected || rows.length !== expected) {
      this.#deviate(undefined, `${rows.length} rows, ${right.length} of them right, instead of ${expected}`);
    }
    for (const fault of await this.#cluster.faults()) this.#deviate(undefined, fault);
    this.#figures.count(`outages: ${this.#outage.name}`);
    this.#figures.count('requests in flight that ended after an outage', answers.length);
  }

  #deviate(node: Node | undefined, text: string): void {
    this.#figures.deviations.push(
      `database ${this.#outage.name}${node === undefined ? '' : `, ${node.name}`}: ${text}`,
    );
  }
}
