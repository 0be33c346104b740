/** Delivers queued alerts to one target, one at a time. Each target has its own courier, so a hung target delays no other. */
import type { AlertTarget } from '../core/alert-targets.ts';
import type { Alerts } from '../state/alert-book.ts';
import type { DeliveryResult } from '../state/alerts.ts';
import { ATTEMPT_MS, deliver } from './deliver.ts';
import type { AlertEvent, Answer } from './event.ts';
import { pauseMs } from './retry.ts';
import { targetId } from './target-id.ts';

/** Lease of a delivery, longer than an attempt. After it another gateway may retry. */
const LEASE_MS = 3 * ATTEMPT_MS;

export interface CourierEvents {
  onFailure(target: AlertTarget, event: AlertEvent, answer: Answer, result: 'retry' | 'given_up'): void;
}

export class Courier {
  readonly id: string;
  readonly #target: AlertTarget;
  readonly #outbox: Pick<Alerts, 'claim' | 'settle'>;
  readonly #owner: string;
  readonly #events: CourierEvents;
  /** The current run; undefined while idle. */
  #run: Promise<void> | undefined;
  #isClosed = false;

  /** `owner`: the name of the gateway. */
  constructor(target: AlertTarget, outbox: Pick<Alerts, 'claim' | 'settle'>, owner: string, events: CourierEvents) {
    this.id = targetId(target);
    this.#target = target;
    this.#outbox = outbox;
    this.#owner = owner;
    this.#events = events;
  }

  /** Starts delivering due alerts, unless a run is in progress. A store error ends the run; the next wake retries. */
  wake(): void {
    if (this.#isClosed) return;
    this.#run ??= this.#deliverAll()
      .catch(() => {})
      .finally(() => {
        this.#run = undefined;
      });
  }

  /** Starts no further delivery, and waits for the current attempt. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#run;
  }

  async #deliverAll(): Promise<void> {
    while (!this.#isClosed) {
      const claimed = await this.#outbox.claim(this.id, this.#owner, LEASE_MS);
      if (claimed === undefined) return;
      const { delivery, body, atMs, attempts } = claimed;
      const answer = await deliver(this.#target, body);
      const result = resultOf(answer, attempts + 1, Date.now() - atMs);
      await this.#outbox.settle(delivery, this.#owner, result);
      if (result.kind !== 'delivered') {
        this.#events.onFailure(this.#target, JSON.parse(body) as AlertEvent, answer, result.kind);
      }
    }
  }
}

function resultOf({ isDelivered, text }: Answer, attempts: number, ageMs: number): DeliveryResult {
  if (isDelivered) return { kind: 'delivered', answer: text };
  const afterMs = pauseMs(attempts, ageMs);
  return afterMs === undefined ? { kind: 'given_up', answer: text } : { kind: 'retry', answer: text, afterMs };
}
