/**
 * Answers the commands of a batch, either at once or after the flush of its commit. A commit makes a batch safe from
 * the end of the process. A flush makes all earlier commits safe from a power failure; flushes run in the background,
 * one at a time.
 */
import type { Engine } from './engine.ts';
import { type ClientPort, type DecidedCommand, isAdmitted } from './protocol.ts';

/** The part of the engine that flushes. */
type FlushingEngine = Pick<Engine, 'needsFlush' | 'waitsForFlush' | 'isFlushedAtOnce' | 'prepareFlush' | 'flush'>;

export class Responder {
  readonly #engine: FlushingEngine;
  /** Decided and committed commands, to be answered after a flush. */
  #waiting: DecidedCommand[] = [];
  /** The last commit whose flush each port waits for. */
  readonly #flushWaits = new Map<ClientPort, number>();
  /** The number of written batches, and the last that contains an answered admission. */
  #commits: number;
  #answered: number;
  /** The last commit that a client waits for, and the last flushed one. */
  #toFlush: number;
  #flushed: number;
  /** The last commit covered by the current or latest flush. */
  #flushing: number;
  #isFlushing = false;

  /** `commits` were written and flushed by an earlier process. */
  constructor(engine: FlushingEngine, commits = 0) {
    this.#engine = engine;
    this.#commits = commits;
    this.#answered = commits;
    this.#toFlush = commits;
    this.#flushed = commits;
    this.#flushing = commits;
  }

  /** The number of written batches. */
  get commits(): number {
    return this.#commits;
  }

  /** Whether a client waits for a flush, running or not. */
  get isBehind(): boolean {
    return this.#flushed < this.#toFlush;
  }

  /** Whether a client waits for a flush and no flush is running. */
  get shouldFlush(): boolean {
    return this.isBehind && !this.#isFlushing;
  }

  /** Answers a batch. Answers that must be durable wait for the next flush. */
  answer(batch: readonly DecidedCommand[], isCommitted: boolean): void {
    if (!isCommitted || !this.#engine.needsFlush) return this.#replyAll(batch);
    this.#commits++;
    const now: DecidedCommand[] = [];
    for (const decided of batch) {
      const { command } = decided;
      if (this.#engine.waitsForFlush(command, decided.answer)) {
        this.#waiting.push(decided);
        this.#toFlush = this.#commits;
        continue;
      }
      now.push(decided);
      if (isAdmitted(command, decided.answer)) this.#answered = this.#commits;
      if (this.#engine.isFlushedAtOnce(command)) this.flushFor(decided.port, this.#commits);
    }
    this.#prepareNext();
    this.#replyAll(now);
  }

  /** Requests a flush of a commit, and notifies the port. */
  flushFor(port: ClientPort, commit: number): void {
    if (commit <= this.#flushed) return this.#tellFlushed(port);
    this.#flushWaits.set(port, Math.max(commit, this.#flushWaits.get(port) ?? 0));
    this.#toFlush = Math.max(this.#toFlush, commit);
    this.#prepareNext();
  }

  /** Forgets a closed port. */
  forget(port: ClientPort): void {
    this.#flushWaits.delete(port);
  }

  /** Flushes all commits, and answers the commands waiting for them. Rejects with a storage error. */
  async flush(): Promise<void> {
    this.#isFlushing = true;
    const commits = this.#commits;
    this.#flushing = commits;
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      await this.#engine.flush();
    } catch (error) {
      this.#waiting.unshift(...waiting);
      throw error;
    } finally {
      this.#isFlushing = false;
    }
    this.#flushed = commits;
    this.#answerFlushed(waiting);
  }

  /** Commands decided and waiting for a flush. */
  get waiting(): readonly DecidedCommand[] {
    return this.#waiting;
  }

  /** Removes the commands whose flush failed, to be decided again. */
  withdraw(): readonly DecidedCommand[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#flushed = this.#commits;
    return waiting;
  }

  /** Answers commands, and delivers the answers of each port in one message. */
  #replyAll(decided: readonly DecidedCommand[]): void {
    const ports = new Set<ClientPort>();
    for (const { ticket, command, port, answer } of decided) {
      port.answer(ticket, command, answer);
      ports.add(port);
    }
    for (const port of ports) this.#tellFlushed(port);
  }

  /** Prepares the next flush if a client waits for a commit that the running flush does not cover. */
  #prepareNext(): void {
    if (this.#isFlushing && this.#toFlush > this.#flushing) this.#engine.prepareFlush?.();
  }

  #answerFlushed(waiting: readonly DecidedCommand[]): void {
    this.#replyAll(waiting);
    const notified = new Set(waiting.map(({ port }) => port));
    for (const [port, commit] of this.#flushWaits) {
      if (!notified.has(port)) this.#tellFlushed(port);
      if (commit <= this.#flushed) this.#flushWaits.delete(port);
    }
  }

  #tellFlushed(port: ClientPort): void {
    port.deliver(this.#answered, this.#flushed);
  }
}
