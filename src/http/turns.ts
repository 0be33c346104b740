/**
 * Shares the event loop among connections with pending input. Otherwise one turn would process everything that a connection has
 * sent ahead, up to 2 MB per connection, before any other event.
 */

/** Tasks in one round. Each reads up to 64 KB or serves one request, which takes about 50 µs. */
const TASKS_PER_ROUND = 4;
/** Pause between two rounds of low-priority work, in milliseconds. It limits such work to about a fifth of a core. */
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

const needed = new Rounds((round) => setImmediate(round));
const unneeded = new Rounds((round) => setTimeout(round, PAUSE_MS));

/** Queues the task for a later turn of the event loop. */
export function inLaterTurn(task: () => void): void {
  needed.add(task);
}

/** Queues a low-priority task, such as reading the rest of a refused body. The thread idles between rounds of such tasks. */
export function inSpareTime(task: () => void): void {
  unneeded.add(task);
}
