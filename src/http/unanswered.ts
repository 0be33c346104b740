/** Bounds how many requests a client may have sent on a connection before it has its answers. */

/** Common clients send none ahead, or a few. Of more than this many at a time the connection is closed. */
const MAX_UNANSWERED = 16;
/** What may wait behind a request that is being answered. More of it stays with the system. */
export const MAX_WAITING_BYTES = 64 * 1024;

export class Unanswered {
  #receivedBytes = 0;
  #begun = 0;
  /** How much had been received when each of the last requests was answered. */
  readonly #receivedAtAnswer: number[] = [];

  receive(bytes: number): void {
    this.#receivedBytes += bytes;
  }

  /** A request has begun, and so many bytes behind it have been received. False if it is one too many. */
  begin(waitingBytes: number): boolean {
    const receivedBefore = this.#receivedAtAnswer[this.#begun % MAX_UNANSWERED] ?? 0;
    const isTooMany = this.#begun >= MAX_UNANSWERED && receivedBefore >= this.#receivedBytes - waitingBytes;
    if (!isTooMany) this.#begun++;
    return !isTooMany;
  }

  /** The request that began last has got all of its answer. */
  answered(): void {
    this.#receivedAtAnswer[(this.#begun - 1) % MAX_UNANSWERED] = this.#receivedBytes;
  }
}
