/**
 * Clients that keep a gateway busy: one request after the other, JSON and streams, with all kinds
 * of keys.
 */
import type { Random } from '../support/random.ts';
import { RawConnection } from '../support/raw.ts';
import { outcomeOf, requestBytes } from './request.ts';
import { type ClientKey, MODELS, type Site } from './site.ts';

/** The answers that a client may get with each key. */
const OUTCOMES: Readonly<Record<ClientKey, readonly string[]>> = {
  unlimited: ['200'],
  wide: ['200'],
  narrow: ['200', '429 rate_limited'],
};

/** One in this many requests uses the key that is mostly refused. */
const NARROW_EVERY = 8;

export class Load {
  served = 0;
  refused = 0;
  /** Of the answers since the last call to `takeLatencies`. */
  #latenciesMs: number[] = [];
  readonly deviations: string[] = [];
  readonly #site: Site;
  readonly #random: Random;
  readonly #ended: Promise<unknown>;
  #stopped = false;

  constructor(site: Site, clients: number, random: Random) {
    this.#site = site;
    this.#random = random;
    this.#ended = Promise.all(Array.from({ length: clients }, () => this.#client()));
  }

  /** How long each answer took since the last call, in milliseconds. */
  takeLatencies(): number[] {
    const taken = this.#latenciesMs;
    this.#latenciesMs = [];
    return taken;
  }

  /** Resolves once no request is in flight. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#ended;
  }

  async #client(): Promise<void> {
    const connection = await RawConnection.open(this.#site.port);
    try {
      while (!this.#stopped) await this.#ask(connection);
    } catch (error) {
      this.deviations.push(`a client: ${(error as Error).message}`);
    }
    connection.leave();
  }

  async #ask(connection: RawConnection): Promise<void> {
    const random = this.#random;
    const key = random.chance(1 / NARROW_EVERY) ? 'narrow' : random.chance(0.5) ? 'wide' : 'unlimited';
    const model = random.chance(0.5) ? MODELS.free : MODELS.paid;
    const sentAtMs = performance.now();
    connection.send(requestBytes(this.#site.keys[key].key, model, random.chance(0.5)));
    const outcome = outcomeOf(await connection.answer());
    this.#latenciesMs.push(performance.now() - sentAtMs);
    if (outcome === '200') this.served++;
    else this.refused++;
    if (!OUTCOMES[key].includes(outcome)) this.deviations.push(`a client with the key ${key} got ${outcome}`);
  }
}
