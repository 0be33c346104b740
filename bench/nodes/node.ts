/** One gateway's ledger under load, in a process of its own: admits, settles, and reports. */

import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { type RunningLedger, startLedger } from '../../src/ledger/client.ts';
import { userName } from '../users.ts';
import type { Arrivals, NodeOrder, NodeReport } from './messages.ts';
import { optionsOf } from './options.ts';

const TOKENS = { reservedTokens: 30, inputTokens: 10, outputTokens: 20 };

async function start({ url, name }: NodeOrder): Promise<RunningLedger> {
  return startLedger(optionsOf(url, name), {
    onStorageFault: (message) => console.error(`${name}: ${message}`),
    onStorageRecovered: () => console.error(`${name}: recovered`),
    onStops: () => {},
    onDeaths: (names) => console.error(`${name}: ${names} taken for dead`),
    onOrphans: () => {},
    onDeath: (error) => {
      throw error;
    },
  });
}

/** Admits and settles requests until the end; the samples are milliseconds of each admission. */
class Load {
  readonly admissionsMs: number[] = [];
  settled = 0;
  #next = 0;
  readonly #ledger: RunningLedger;
  readonly #order: NodeOrder;
  readonly #endsAtMs: number;

  constructor(ledger: RunningLedger, order: NodeOrder) {
    this.#ledger = ledger;
    this.#order = order;
    this.#endsAtMs = performance.now() + order.seconds * 1000;
  }

  async run(arrivals: Arrivals): Promise<void> {
    if (arrivals.kind === 'closed') {
      await Promise.all(Array.from({ length: arrivals.inFlight }, () => this.#loop()));
      return;
    }
    const open: Promise<void>[] = [];
    const startedAtMs = performance.now();
    for (let sent = 0; performance.now() < this.#endsAtMs; ) {
      const due = ((performance.now() - startedAtMs) / 1000) * arrivals.perSecond;
      for (; sent < due; sent++) open.push(this.#one());
      await pause(1);
    }
    await Promise.all(open);
  }

  async #loop(): Promise<void> {
    while (performance.now() < this.#endsAtMs) await this.#one();
  }

  async #one(): Promise<void> {
    const { name, keys, users } = this.#order;
    const number = this.#next++;
    const requestId = `${name}-${this.#endsAtMs}-${number}`;
    const { client } = this.#ledger;
    const startedAtMs = performance.now();
    const keyHash = `hash-${(number * 7_919) % keys}`;
    const user = users === undefined ? undefined : userName(Math.floor(number / keys) % users);
    const admission = await client.admit({
      requestId,
      keyHash,
      user,
      model: 'bench/model',
      holdNanos: 100n,
      ...TOKENS,
    });
    this.admissionsMs.push(performance.now() - startedAtMs);
    if (!admission.admitted) throw new Error(`refused: ${admission.refusal.reason}`);
    await client.settle({
      requestId,
      outcome: 'ok',
      usage: { promptTokens: 10, cachedTokens: 0, completionTokens: 20 },
      source: 'reported',
      costNanos: 70n,
      completionId: undefined,
      firstByteMs: 1,
      served: { model: 'bench/model', upstream: 'bench', attempts: 1 },
      ...(user !== undefined && { spentBy: { user, tag: '', app: '' } }),
    });
    this.settled++;
  }
}

process.once('message', async (order: NodeOrder) => {
  const ledger = await start(order);
  process.send?.({ kind: 'ready' } satisfies NodeReport);
  process.once('message', async () => {
    const load = new Load(ledger, order);
    const cpu = process.cpuUsage();
    await load.run(order.arrivals);
    const { user, system } = process.cpuUsage(cpu);
    const { admissionsMs, settled } = load;
    process.send?.({ kind: 'done', admissionsMs, settled, cpuMicroseconds: user + system } satisfies NodeReport);
    // Its backends in the server take their CPU times with them when they end.
    await once(process, 'message');
    await ledger.close();
    process.disconnect?.();
  });
});
