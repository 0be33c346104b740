/** The load: clients of all gateways that send planned requests one after another, and remember the answers. */
import { setTimeout as pause } from 'node:timers/promises';
import { RaceClient } from '../races/client.ts';
import type { Random } from '../support/random.ts';
import { rawCompletion } from '../support/raw.ts';
import type { TestKey } from '../support/state.ts';
import type { Node } from './cluster.ts';
import { bodyOf, drawPlan, type KeyName, type Plan } from './plan.ts';

/** A request as its client saw it. */
export interface Sent {
  readonly plan: Plan;
  readonly node: string;
  /** By this process's monotonic clock. */
  readonly sentAtMs: number;
  readonly endedAtMs: number;
  readonly end: End;
}

export type End =
  | { readonly kind: 'answered'; readonly status: number; readonly requestId: string; readonly hasError: boolean }
  /** The connection broke, because the gateway was killed or for no good reason. */
  | { readonly kind: 'broken'; readonly wasKilled: boolean; readonly problem: string };

/** A client whose request was refused rests for up to so long. */
const REST_MS = 40;

export interface Pace {
  readonly clientsPerNode: number;
  /** A client rests for up to so long between two requests. */
  readonly restMs: number;
}

export class Load {
  readonly sent: Sent[] = [];
  readonly plans = new Map<number, Plan>();
  readonly #keys: Readonly<Record<KeyName, TestKey>>;
  readonly #random: Random;
  readonly #restMs: number;
  readonly #clients: readonly Promise<void>[];
  #marker: number;
  #isStopped = false;

  /** Markers count from `firstMarker`. */
  constructor(
    nodes: readonly Node[],
    keys: Readonly<Record<KeyName, TestKey>>,
    pace: Pace,
    random: Random,
    firstMarker: number,
  ) {
    this.#keys = keys;
    this.#restMs = pace.restMs;
    this.#random = random;
    this.#marker = firstMarker;
    this.#clients = nodes.flatMap((node) => Array.from({ length: pace.clientsPerNode }, () => this.#drive(node)));
  }

  /** Sends nothing new. Resolves once nobody waits for an answer. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#clients);
  }

  get nextMarker(): number {
    return this.#marker;
  }

  async #drive(node: Node): Promise<void> {
    let client: RaceClient | undefined;
    let deaths = 0;
    while (!this.#isStopped) {
      if (client?.isOpen !== true) {
        if (!(await this.#isUp(node))) continue;
        ({ deaths } = node);
        client = await RaceClient.open(node.port).catch(() => undefined);
      }
      if (client === undefined) continue;
      const sent = await this.#send(client, node, deaths);
      this.sent.push(sent);
      const isServed = sent.end.kind === 'answered' && sent.end.status === 200;
      await pause(this.#random.between(0, isServed ? this.#restMs : REST_MS));
    }
    client?.leave();
  }

  /** Waits for a moment until the gateway runs. */
  async #isUp(node: Node): Promise<boolean> {
    await Promise.race([node.up, pause(REST_MS)]);
    return node.isUp;
  }

  /** `deaths`: how often the gateway had been killed when the connection was opened. */
  async #send(client: RaceClient, node: Node, deaths: number): Promise<Sent> {
    const plan = drawPlan(this.#marker++, this.#random);
    this.plans.set(plan.marker, plan);
    const sentAtMs = performance.now();
    const end = await client.send(rawCompletion(this.#keys[plan.key], bodyOf(plan))).then(
      ({ status, text }): End => {
        const requestId = /^x-request-id: (\S+)/im.exec(text)?.[1] ?? '';
        return { kind: 'answered', status, requestId, hasError: text.includes('"error"') };
      },
      (error: Error): End => ({ kind: 'broken', wasKilled: node.deaths > deaths, problem: error.message }),
    );
    return { plan, node: node.name, sentAtMs, endedAtMs: performance.now(), end };
  }
}
