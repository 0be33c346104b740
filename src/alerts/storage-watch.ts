/** Sends alerts about unwritable storage. Their queue is in memory, because the outbox is in the unwritable store. */
import type { AlertTarget } from '../core/alert-targets.ts';
import { deliver } from './deliver.ts';
import { type AlertEvent, type AlertFacts, eventOf } from './event.ts';
import { REST_MS } from './judge.ts';
import { pauseMs } from './retry.ts';

/** Maximum queued events per target. The oldest are dropped first. */
const MAX_WAITING = 20;

/** A target and its queue. */
interface Line {
  readonly target: AlertTarget;
  waiting: readonly AlertEvent[];
  attempts: number;
  timer: NodeJS.Timeout | undefined;
  isSending: boolean;
}

export class StorageWatch {
  readonly #lines: readonly Line[];
  readonly #gateway: string;
  #reported: 'fault' | 'fine' = 'fine';
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(targets: readonly AlertTarget[], gateway: string) {
    this.#lines = targets.map((target) => ({
      target,
      waiting: [],
      attempts: 0,
      timer: undefined,
      isSending: false,
    }));
    this.#gateway = gateway;
  }

  /** `fault`: the reason why the state cannot be written; undefined while it can. */
  look(fault: string | undefined, nowMs: number): void {
    const facts = this.#transition(fault, nowMs);
    if (facts === undefined) return;
    const event = eventOf(facts, this.#gateway, nowMs);
    for (const line of this.#lines) {
      line.waiting = [...line.waiting, event].slice(-MAX_WAITING);
      void this.#send(line);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const { timer } of this.#lines) clearTimeout(timer);
  }

  #transition(fault: string | undefined, nowMs: number): AlertFacts | undefined {
    if (fault !== undefined && this.#reported === 'fine' && nowMs - this.#reportedAtMs >= REST_MS) {
      this.#reported = 'fault';
      this.#reportedAtMs = nowMs;
      const text = `the state cannot be written, and all requests are refused: ${fault}`;
      return { kind: 'storage_fault', severity: 'critical', text, figures: {} };
    }
    if (fault === undefined && this.#reported === 'fault') {
      this.#reported = 'fine';
      const text = 'the state can be written again';
      return { kind: 'storage_recovered', severity: 'info', text, figures: {} };
    }
    return undefined;
  }

  async #send(line: Line): Promise<void> {
    if (line.isSending || line.timer !== undefined) return;
    line.isSending = true;
    while (!this.#isClosed) {
      const event = line.waiting[0];
      if (event === undefined) break;
      const { isDelivered } = await deliver(line.target, JSON.stringify(event));
      line.attempts = isDelivered ? 0 : line.attempts + 1;
      const afterMs = isDelivered ? undefined : pauseMs(line.attempts, Date.now() - Date.parse(event.at));
      if (afterMs === undefined) line.waiting = line.waiting.filter((each) => each !== event);
      else if (!this.#isClosed) {
        line.timer = setTimeout(() => {
          line.timer = undefined;
          void this.#send(line);
        }, afterMs);
        break;
      }
    }
    line.isSending = false;
  }
}
