/** Judges each observation, and queues new alerts in the outbox. */
import type { AlertTarget } from '../core/alert-targets.ts';
import type { OutgoingAlert } from '../state/alerts.ts';
import type { OpenState } from '../state/state.ts';
import { Courier, type CourierEvents } from './courier.ts';
import { type AlertFacts, eventOf, SEVERITIES } from './event.ts';
import { readMoney } from './figures.ts';
import { endedRefusals, judgeMoney, judgeRefusals, judgeUpstreams, type Marks, type Verdict } from './judge.ts';
import type { Observation } from './observation.ts';
import { Pace } from './pace.ts';
import { Rate } from './rate.ts';
import { StorageWatch } from './storage-watch.ts';

/** Figures are reread after this time even without writes, because windows slide and periods end. */
const REREAD_MS = 30_000;
/** Maximum share of time spent on reading figures. With many keys they are read less often. */
const READING_SHARE = 1 / 20;

export interface WatcherOptions {
  readonly targets: readonly AlertTarget[];
  /** The name of the gateway. */
  readonly gateway: string;
  readonly isCreditEnforced: boolean;
}

export interface WatcherEvents extends CourierEvents {
  /** Called when the outbox is full. */
  onFull(): void;
}

export type WatchedState = Pick<OpenState, 'keys' | 'groups' | 'levels' | 'usage' | 'alerts' | 'hasChanged'>;

export class Watcher {
  readonly #state: WatchedState;
  readonly #options: WatcherOptions;
  readonly #events: WatcherEvents;
  readonly #couriers: readonly Courier[];
  readonly #storage: StorageWatch;
  readonly #pace = new Pace();
  readonly #rate: Rate;
  /** Cached marks; undefined if they must be reread. */
  #marks: Marks | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #nextReadMs = Number.NEGATIVE_INFINITY;
  /** Whether the state may have changed since the figures were read. */
  #hasChanged = false;
  #wasFull = false;

  constructor(state: WatchedState, options: WatcherOptions, events: WatcherEvents, nowMs = Date.now()) {
    this.#state = state;
    this.#options = options;
    this.#events = events;
    this.#rate = new Rate(nowMs);
    const { targets, gateway } = options;
    this.#couriers = targets.map((target) => new Courier(target, state.alerts, gateway, events));
    this.#storage = new StorageWatch(targets, gateway);
  }

  /** Handles one observation. Rejects with a store error; later calls may succeed. */
  async look(observation: Observation, nowMs = Date.now()): Promise<void> {
    this.#storage.look(observation.storageFault, nowMs);
    // With unwritable storage, marks and alerts cannot be stored.
    if (observation.storageFault !== undefined) return;
    this.#marks ??= await this.#state.alerts.marks();
    const verdicts = [
      ...(await this.#moneyVerdicts(this.#marks, nowMs)),
      ...judgeUpstreams(observation.upstreams, this.#marks, nowMs),
      ...(await this.#refusalVerdicts(observation, this.#marks, nowMs)),
      ...endedRefusals(this.#marks, nowMs),
    ];
    await this.#queue(verdicts, nowMs);
    for (const courier of this.#couriers) courier.wake();
  }

  /** Starts no further delivery, and waits for the current ones. */
  async close(): Promise<void> {
    this.#storage.close();
    await Promise.all(this.#couriers.map((courier) => courier.close()));
  }

  async #moneyVerdicts(marks: Marks, nowMs: number): Promise<Verdict[]> {
    this.#hasChanged = (await this.#state.hasChanged()) || this.#hasChanged;
    const isDue = this.#hasChanged || Math.abs(nowMs - this.#readAtMs) >= REREAD_MS;
    if (!isDue || (nowMs < this.#nextReadMs && nowMs >= this.#readAtMs)) return [];
    const startedAtMs = performance.now();
    const money = await readMoney(this.#state, this.#options.isCreditEnforced, this.#pace, nowMs);
    const verdicts = judgeMoney(money, marks, nowMs);
    this.#hasChanged = false;
    this.#readAtMs = nowMs;
    this.#nextReadMs = nowMs + (performance.now() - startedAtMs) / READING_SHARE;
    return verdicts;
  }

  async #refusalVerdicts({ refused }: Observation, marks: Marks, nowMs: number): Promise<Verdict[]> {
    const names = new Map<string, string>();
    for (const { keyId } of refused) {
      const key = keyId === undefined ? undefined : await this.#state.keys.find(keyId);
      if (key !== undefined) names.set(key.id, key.name);
    }
    return judgeRefusals(refused, marks, nowMs, (keyId) => names.get(keyId));
  }

  /**
   * Queues alerts, the most severe first. Alerts above the rate limit keep their marks unchanged, so the next call judges them
   * again.
   */
  async #queue(verdicts: readonly Verdict[], nowMs: number): Promise<void> {
    for (const { change, facts } of verdicts.toSorted((a, b) => rankOf(a) - rankOf(b))) {
      if (facts !== undefined && !this.#rate.hasRoom(nowMs)) continue;
      const outcome = await this.#state.alerts.change(change, facts && this.#outgoing(facts, nowMs));
      // The marks were changed, by this call or by another gateway.
      if (outcome !== 'full') this.#marks = undefined;
      // Judge again with the current marks.
      if (outcome !== 'done') this.#hasChanged = true;
      if (outcome === 'full' && !this.#wasFull) this.#events.onFull();
      if (facts !== undefined) this.#wasFull = outcome === 'full';
      if (facts !== undefined && outcome === 'done') this.#rate.take();
    }
  }

  #outgoing(facts: AlertFacts, nowMs: number): OutgoingAlert {
    const event = eventOf(facts, this.#options.gateway, nowMs);
    const targets = this.#couriers.map(({ id }) => id);
    return { id: event.id, body: JSON.stringify(event), atMs: nowMs, targets };
  }
}

/** Sorts changes without an alert last. */
function rankOf({ facts }: Verdict): number {
  return facts === undefined ? SEVERITIES.length : SEVERITIES.indexOf(facts.severity);
}
