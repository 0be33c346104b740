/**
 * One request, as sender and truthful host both know it: what the model is to write, how far its
 * client has read, and the host's own bill. The host writes on when the client has read what it
 * wrote, so no answer runs ahead of its reader.
 */
import type { Reading } from './names.ts';
import type { Alphabet } from './texts.ts';
import type { Field } from './writing.ts';

/** What the host does with a request, whatever the request says. */
export interface Wish {
  readonly alphabet: Alphabet;
  readonly field: Field;
  /** How many tokens a choice gets unless the request sets a maximum that the host reads. */
  readonly tokens: number;
  /** Blanks that the model writes before anything else, and that have few tokens. */
  readonly blanks: number;
  /** Tokens of reasoning that the host bills for each choice and does not send. */
  readonly hidden: number;
  /** When usage is reported: at the end, in each chunk (0 tokens of output at first), or never. */
  readonly report: 'end' | 'each chunk' | 'never';
  /** How many pieces of its text the host writes in one event. */
  readonly piecesAtOnce: number;
  /** Tokens with prices of their own: written to a cache, or audio. */
  readonly special: Partial<Special>;
}

export interface Special {
  readonly cacheWrite: number;
  readonly audioInput: number;
  readonly audioOutput: number;
}

const WISH: Wish = {
  alphabet: 'prose',
  field: 'content',
  tokens: 100,
  blanks: 0,
  hidden: 0,
  report: 'end',
  piecesAtOnce: 1,
  special: {},
};

/** When the client leaves: with the request at the host, on what it has read, or never. */
export const LEAVING_POINTS = ['never', 'arrival', 'first piece', 'middle', 'finish reason', 'report'] as const;
export type LeavingPoint = (typeof LEAVING_POINTS)[number];

/** What the host bills for one request. */
export interface Bill {
  /** The model that the host read, by its own name for it. */
  readonly model: string;
  readonly reading: Reading;
  readonly inputTokens: number;
  readonly declaredOutput: number | undefined;
  /** What the gateway holds for: the larger maximum that the request declares, whether its host reads it or not, and what it predicts. */
  readonly heldOutput: number;
  /** The gateway holds for more output than a host writes here, although this host reads no maximum. */
  readonly isHeldWhole?: boolean;
  /** The first hold at the prices of a host that refused the request, in nanodollars: it stays when a fallback serves. */
  readonly refusedNanos?: number;
  readonly serviceTier: string | undefined;
  readonly choices: number;
  /** What a token of output costs, in nanodollars, where that depends on more than its model. */
  outputNanos?: number;
  readonly isStream: boolean;
  /** The moments in which the host began and stopped working. */
  readonly from: number;
  to: number;
  outputTokens: number;
  costNanos: number;
  isFinal: boolean;
  /** The gateway does not see the end of the work. */
  isLost?: true;
}

/** Whether the gateway holds for a maximum that the host does not read. */
export function ignoresMaximum({ declaredOutput, heldOutput }: Bill): boolean {
  return declaredOutput === undefined && heldOutput > 0;
}

/** How long a host waits for a client that reads nothing before it writes on, the first times and after them. */
const READER_PATIENCE_MS = 2_000;
const LAST_PATIENCE_MS = 5;
/** Some of what a host writes no client ever reads, such as calls that are translated once they are whole. */
const MOST_IN_VAIN = 3;
/**
 * How long a connection may take to be closed once the client has left, however busy the machine
 * is.
 */
export const ABORT_PATIENCE_MS = 30_000;

let moments = 0;

/** The next moment: a counter, so that moments order events without a clock. */
export function nextMoment(): number {
  return ++moments;
}

export class Conversation {
  readonly id: string;
  readonly wish: Wish;
  readonly leaves: LeavingPoint;
  /** One for each time that the host received the request. */
  readonly bills: Bill[] = [];
  readonly #arrival = Promise.withResolvers<void>();
  readonly #ends: (() => void)[] = [];
  #bytesRead = 0;
  #inVain = 0;
  #leftAt: number | undefined;

  constructor(id: string, wish: Partial<Wish> = {}, leaves: LeavingPoint = 'never') {
    this.id = id;
    this.wish = { ...WISH, ...wish };
    this.leaves = leaves;
  }

  /** Resolves once the host has received the request. */
  get arrival(): Promise<void> {
    return this.#arrival.promise;
  }

  get hasLeft(): boolean {
    return this.#leftAt !== undefined;
  }

  /** The moment in which the client left. */
  get leftAt(): number | undefined {
    return this.#leftAt;
  }

  get bytesRead(): number {
    return this.#bytesRead;
  }

  arrived(bill: Bill): void {
    this.bills.push(bill);
    this.#arrival.resolve();
  }

  /** The client has read this many more bytes. */
  read(bytes: number): void {
    this.#bytesRead += bytes;
    this.#wake();
  }

  /** The client has left, or its answer is complete. */
  leave(): void {
    this.#leftAt ??= nextMoment();
    this.#wake();
  }

  /**
   * Resolves once the client has read more than `bytes`, the client has left, or `closed` resolves.
   */
  async readBeyond(bytes: number, closed: Promise<void>): Promise<void> {
    while (this.#bytesRead <= bytes && !this.hasLeft) {
      const change = new Promise<boolean>((resolve) => this.#ends.push(() => resolve(true)));
      const patienceMs = this.#inVain < MOST_IN_VAIN ? READER_PATIENCE_MS : LAST_PATIENCE_MS;
      if (await within(Promise.race([change, closed.then(() => false)]), patienceMs)) continue;
      this.#inVain++;
      return;
    }
  }

  /** Resolves once the client has left or `closed` resolves. */
  async left(closed: Promise<void>): Promise<void> {
    await this.readBeyond(Number.POSITIVE_INFINITY, closed);
  }

  #wake(): void {
    for (const wake of this.#ends.splice(0)) wake();
  }
}

/** What the promise resolves to, or false where it takes longer. */
export async function within(promise: Promise<boolean>, patienceMs: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), patienceMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
