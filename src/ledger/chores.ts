/** Background work of the ledger thread. Chores run one at a time, between batches. */
import type { Engine, Eventual } from './engine.ts';

/** Delay before counted refusals are written, so that later ones share the write. */
const REFUSALS_MS = 100;
/** Interval between two searches for journal rows past their retention. */
const RETENTION_MS = 600_000;
/** Pause between two steps of a search that found more rows, so that requests take precedence. */
const RETENTION_STEP_MS = 50;

type Chore = 'refusals' | 'retention';

interface ChoresContext {
  /** Called when a chore becomes due. The owner then calls `run`. */
  onDue(): void;
  /** Runs a write, and reports a storage fault. */
  tryTo(write: (lockWaitMs: number) => Eventual<void>): Promise<void>;
  isFaulty(): boolean;
}

export class Chores {
  readonly #engine: Engine;
  readonly #context: ChoresContext;
  readonly #due = new Set<Chore>();
  #refusalsTimer: NodeJS.Timeout | undefined;
  #retentionTimer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(engine: Engine, context: ChoresContext) {
    this.#engine = engine;
    this.#context = context;
  }

  /** Marks a chore as due. */
  add(chore: Chore): void {
    this.#due.add(chore);
    this.#context.onDue();
  }

  /** Runs the due chores. */
  async run(): Promise<void> {
    for (const chore of this.#due) {
      this.#due.delete(chore);
      if (chore === 'refusals') await this.writeRefusals();
      else await this.#dropOldRows();
    }
    if (this.#engine.hasRefusals) this.#writeRefusalsSoon();
  }

  async writeRefusals(): Promise<void> {
    if (this.#engine.hasRefusals) await this.#context.tryTo((lockWaitMs) => this.#engine.writeRefusals(lockWaitMs));
  }

  /** Stops the timers for good. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#refusalsTimer);
    clearTimeout(this.#retentionTimer);
  }

  #writeRefusalsSoon(): void {
    this.#refusalsTimer ??= setTimeout(() => {
      this.#refusalsTimer = undefined;
      this.add('refusals');
    }, REFUSALS_MS);
  }

  /** Drops rows past their retention in small steps, then schedules the next search. */
  async #dropOldRows(): Promise<void> {
    let isMore = false;
    if (!this.#context.isFaulty()) {
      await this.#context.tryTo(async (lockWaitMs) => {
        isMore = await this.#engine.dropOldRows(lockWaitMs);
      });
    }
    clearTimeout(this.#retentionTimer);
    if (this.#isStopped) return;
    // Unreferenced, so that the timer does not keep an otherwise finished process alive.
    this.#retentionTimer = setTimeout(() => this.add('retention'), isMore ? RETENTION_STEP_MS : RETENTION_MS).unref();
  }
}
