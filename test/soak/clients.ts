/**
 * The clients of a soak test: streams that are read, abandoned, or not read, and JSON requests in
 * between.
 */
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Site } from '../control/site.ts';
import type { Random } from '../support/random.ts';
import { FAILURES, type Wish } from './host.ts';

const STREAMS = 100;
const JSON_CLIENTS = 8;
/** Providers that fail. There are several, so that each also has successes. */
export const FAILING_PROVIDERS = 8;
const JSON_PAUSE_MS = 50;
/** How long a client stops reading, in milliseconds. */
const STALL_MS = 2_000;
const LEAVES_WITHIN_MS = 1_500;

type Manner = 'reads' | 'leaves' | 'stalls';

/** Counts of requests that have ended. */
export interface Tally {
  complete: number;
  failed: number;
  left: number;
  stalled: number;
  json: number;
}

export class Clients {
  readonly tally: Tally = { complete: 0, failed: 0, left: 0, stalled: 0, json: 0 };
  readonly deviations: string[] = [];
  readonly #site: Site;
  readonly #secret: string;
  readonly #random: Random;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  readonly #ended: Promise<unknown>;
  #isStopped = false;

  constructor(site: Site, secret: string, random: Random) {
    this.#site = site;
    this.#secret = secret;
    this.#random = random;
    const streams = Array.from({ length: STREAMS }, () => this.#loop(() => this.#stream()));
    const jsons = Array.from({ length: JSON_CLIENTS }, () => this.#loop(() => this.#json()));
    this.#ended = Promise.all([...streams, ...jsons]);
  }

  /** Waits until each client has finished its request. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#ended;
    this.#agent.destroy();
  }

  async #loop(work: () => Promise<void>): Promise<void> {
    while (!this.#isStopped) {
      await work().catch((error: Error) => this.deviations.push(`a client: ${error.message}`));
    }
  }

  async #stream(): Promise<void> {
    const random = this.#random;
    const manner: Manner = random.chance(0.7) ? 'reads' : random.chance(0.8) ? 'leaves' : 'stalls';
    const wish: Wish = manner === 'stalls' ? 'endless' : random.chance(0.2) ? random.pick(FAILURES) : 'normal';
    if (manner === 'leaves') return this.#leave(wish);
    const response = await this.#send(wish, { stream: true }).response;
    if (manner === 'stalls') return this.#stall(response);
    const text = await textOf(response);
    if (wish !== 'normal') this.tally.failed++;
    else if (response.statusCode === 200 && text.endsWith('data: [DONE]\n\n')) this.tally.complete++;
    else this.deviations.push(`a normal stream: ${response.statusCode} ${text.slice(-300)}`);
  }

  async #leave(wish: Wish): Promise<void> {
    const { response, abort } = this.#send(wish, { stream: true });
    const settled = response.then((started) => started.resume()).catch(() => {});
    await pause(this.#random.between(0, LEAVES_WITHIN_MS));
    abort();
    await settled;
    this.tally.left++;
  }

  async #stall(response: IncomingMessage): Promise<void> {
    response.on('error', () => {});
    response.pause();
    await pause(STALL_MS);
    response.destroy();
    this.tally.stalled++;
  }

  async #json(): Promise<void> {
    const wish: Wish = this.#random.chance(0.1) ? this.#random.pick(['status', 'html', 'garbage']) : 'normal';
    const response = await this.#send(wish, { stream: false }).response;
    const text = await textOf(response);
    if (wish === 'normal' && response.statusCode !== 200) {
      this.deviations.push(`a normal request: ${response.statusCode} ${text}`);
    }
    this.tally.json++;
    await pause(JSON_PAUSE_MS);
  }

  #send(wish: Wish, { stream }: { stream: boolean }): { response: Promise<IncomingMessage>; abort: () => void } {
    const provider =
      wish === 'normal' || wish === 'endless' ? 'good' : `bad${this.#random.between(1, FAILING_PROVIDERS)}`;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = { authorization: `Bearer ${this.#secret}`, 'content-type': 'application/json' };
    const url = `${this.#site.serving.url}/v1/chat/completions`;
    const messages = [{ role: 'user', content: 'Tell me something long.' }];
    const sent = request(url, { method: 'POST', headers, agent: this.#agent }, resolve).on('error', reject);
    sent.end(JSON.stringify({ model: `${provider}/model`, messages, user: wish, stream }));
    return { response: promise, abort: () => sent.destroy() };
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of response.setEncoding('utf8')) text += piece;
  return text;
}
