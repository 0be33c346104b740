/**
 * Shares the event loop among connections with pending input. Otherwise one turn would process everything that each connection
 * has sent ahead, up to 2 MB per connection, before any other event.
 */

/** Tasks in one round. Each reads up to 64 KB or serves one request, which takes about 50 µs. */
const TASKS_PER_ROUND = 4;
/** Between two rounds of unneeded work, in milliseconds. It limits that work to about a fifth of a core. */
const PAUSE_MS = 1;

class Rounds {
  readonly #schedule: (round: () => void) => void;
  readonly #waiting: (() => void)[] = [];
  #isScheduled = false;

  constructor(schedule: (round: () => void) => void) {
    this.#schedule = schedule;
  }

  add(task: () => void): void {
    this.#waiting.push(task);
    this.#scheduleOnce();
  }

  #scheduleOnce(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(this.#run);
  }

  readonly #run = (): void => {
    this.#isScheduled = false;
    for (const task of this.#waiting.splice(0, TASKS_PER_ROUND)) task();
    if (this.#waiting.length > 0) this.#scheduleOnce();
  };
}

/** With more refusals in one window than this, peers without a key are a flood. */
const MAX_REFUSALS = 20;
const WINDOW_MS = 100;

/** Counts what peers without a key were refused lately. */
class Refusals {
  #count = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #wereMany = false;

  add(): void {
    const ageMs = performance.now() - this.#sinceMs;
    if (ageMs > WINDOW_MS) {
      this.#wereMany = ageMs <= 2 * WINDOW_MS && this.#count > MAX_REFUSALS;
      this.#sinceMs += ageMs;
      this.#count = 0;
    }
    this.#count++;
  }

  get areMany(): boolean {
    const isRecent = performance.now() - this.#sinceMs <= 2 * WINDOW_MS;
    return isRecent && (this.#wereMany || this.#count > MAX_REFUSALS);
  }
}

const refusals = new Refusals();
const needed = new Rounds((round) => setImmediate(round));
const unneeded = new Rounds((round) => setTimeout(round, PAUSE_MS));

/** Queues the task for a later turn of the event loop. */
export function inLaterTurn(task: () => void): void {
  needed.add(task);
}

/** For peers whose key is not known. In a flood of refusals they get the same share as unneeded work. */
const strangers = new Rounds((round) => (refusals.areMany ? setTimeout(round, PAUSE_MS) : setImmediate(round)));

/** Queues the next work for a peer whose key is not known: a new connection, or a read. */
export function inTurnOfStrangers(task: () => void): void {
  strangers.add(task);
}

/** A peer without a key was refused. */
export function countRefusal(): void {
  refusals.add();
}

/** Queues a task of low priority, such as reading the rest of a refused body. The thread idles between the rounds of these. */
export function inSpareTime(task: () => void): void {
  unneeded.add(task);
}
