/**
 * Watches an attacked gateway from outside: its connections, its health checks, and an innocent
 * client.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const LOOK_MS = 100;
const PROBE_MS = 250;
/** A slower service counts as unavailable. */
const PATIENCE_MS = 2_000;
const ESTABLISHED = '01';
const CLOSE_WAIT = '08';

/** Requests of one kind: their number, how many failed, and the slowest. */
class Tally {
  count = 0;
  failed = 0;
  slowestMs = 0;

  async add(ask: (signal: AbortSignal) => Promise<Response>): Promise<void> {
    const beganAtMs = performance.now();
    let isSound = false;
    try {
      const response = await ask(AbortSignal.timeout(PATIENCE_MS));
      await response.arrayBuffer();
      isSound = response.status === 200;
    } catch {
      // Any error counts as a failure.
    }
    this.count++;
    if (!isSound) this.failed++;
    this.slowestMs = Math.max(this.slowestMs, performance.now() - beganAtMs);
  }
}

export class Watch {
  readonly probes = new Tally();
  readonly completions = new Tally();
  mostConnections = 0;
  longestLifeMs = 0;
  readonly #url: string;
  readonly #key: string;
  readonly #port: string;
  /** When each connection was first seen, by the client's address. */
  readonly #firstSeen = new Map<string, number>();
  #isOver = false;
  readonly #work: Promise<unknown>;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
    this.#port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
    this.#work = Promise.all([
      this.#repeat(LOOK_MS, async () => this.#look()),
      this.#repeat(PROBE_MS, () => this.probes.add((signal) => this.#probe(signal))),
      this.#repeat(PROBE_MS, () => this.completions.add((signal) => this.#complete(signal))),
    ]);
  }

  get connections(): number {
    return this.#firstSeen.size;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  #probe(signal: AbortSignal): Promise<Response> {
    return fetch(`${this.#url}/healthz`, { signal, headers: { connection: 'close' } });
  }

  #complete(signal: AbortSignal): Promise<Response> {
    const body = JSON.stringify({ model: 'mock/echo', messages: [{ role: 'user', content: 'hello' }] });
    const headers = { authorization: `Bearer ${this.#key}`, connection: 'close' };
    return fetch(`${this.#url}/v1/chat/completions`, { method: 'POST', signal, headers, body });
  }

  async #repeat(everyMs: number, work: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      await work();
      await pause(everyMs);
    }
  }

  #look(): void {
    const nowMs = performance.now();
    const open = new Set<string>();
    for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)) {
      const [, local = '', remote = '', state, , , , , , inode] = line.trim().split(/\s+/);
      // Without an inode it belongs to the system and no longer to the program.
      if (!local.endsWith(`:${this.#port}`) || inode === '0') continue;
      if (state === ESTABLISHED || state === CLOSE_WAIT) open.add(remote);
    }
    for (const remote of open) if (!this.#firstSeen.has(remote)) this.#firstSeen.set(remote, nowMs);
    for (const [remote, sinceMs] of this.#firstSeen) {
      this.longestLifeMs = Math.max(this.longestLifeMs, nowMs - sinceMs);
      if (!open.has(remote)) this.#firstSeen.delete(remote);
    }
    this.mostConnections = Math.max(this.mostConnections, open.size);
  }
}
