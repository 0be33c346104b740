/** What the ledger thread does besides its batches, one at a time and between two of them. */
import type { Engine, Eventual } from './engine.ts';

/** How long counted refusals wait, so that later ones are written with them. */
const REFUSALS_MS = 100;
/** The time between two searches for journal rows past their retention. */
const RETENTION_MS = 600_000;
/** The pause between two steps of a search that found more. Requests come first. */
const RETENTION_STEP_MS = 50;

type Chore = 'refusals' | 'retention';

interface ChoresContext {
  /** A chore has become due: `run` is to be called. */
  onDue(): void;
  /** Runs a write, and reports a storage fault. */
  tryTo(write: (lockWaitMs: number) => Eventual<void>): Promise<void>;
  isFaulty(): boolean;
}

export class Chores {
  readonly #engine: Engine;
  readonly #context: ChoresContext;
  /** Due now. */
  readonly #due = new Set<Chore>();
  #refusalsTimer: NodeJS.Timeout | undefined;
  #retentionTimer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(engine: Engine, context: ChoresContext) {
    this.#engine = engine;
    this.#context = context;
  }

  /** A chore becomes due. */
  add(chore: Chore): void {
    this.#due.add(chore);
    this.#context.onDue();
  }

  /** Does what is due. */
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

  /** Nothing becomes due any more. */
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

  /** Drops rows past their retention in small steps, and searches again after a while. */
  async #dropOldRows(): Promise<void> {
    let isMore = false;
    if (!this.#context.isFaulty()) {
      await this.#context.tryTo(async (lockWaitMs) => {
        isMore = await this.#engine.dropOldRows(lockWaitMs);
      });
    }
    clearTimeout(this.#retentionTimer);
    if (this.#isStopped) return;
    // A process that has nothing else to do ends.
    this.#retentionTimer = setTimeout(() => this.add('retention'), isMore ? RETENTION_STEP_MS : RETENTION_MS).unref();
  }
}
