/** Clients that send requests all the time, over new connections and over kept ones, and record what becomes of each. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

/** Between two requests of a client, which leaves the gateways time to start. */
const PAUSE_MS = 20;

/** A request as its client saw it. */
export interface Sent {
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  /** From sending to the last byte, in milliseconds. */
  readonly ms: number;
  /** What went wrong with the connection. */
  readonly problem: string | undefined;
  readonly text: string;
}

export interface Sending {
  readonly port: number;
  readonly key: string;
  readonly model: string;
  readonly stream?: boolean;
  /** Without one, the request has a connection of its own. */
  readonly agent?: Agent;
}

/** Sends one request, and reads all of its answer. */
export function send({ port, key, model, stream = false, agent }: Sending): Promise<Sent> {
  const beganMs = performance.now();
  const body = JSON.stringify({ model, stream, max_tokens: 10, messages: [{ role: 'user', content: '/words 2' }] });
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  return new Promise((resolve) => {
    let answer: IncomingMessage | undefined;
    let text = '';
    const end = (problem?: string) => {
      const id = answer?.headers['x-request-id'];
      const requestId = typeof id === 'string' ? id : undefined;
      resolve({ status: answer?.statusCode, requestId, ms: performance.now() - beganMs, problem, text });
    };
    const path = '/v1/chat/completions';
    const call = request({ port, host: '127.0.0.1', path, method: 'POST', headers, agent: agent ?? false });
    call.once('error', (error) => end(String(error)));
    call.once('response', (response) => {
      answer = response;
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.once('error', (error) => end(String(error)));
      response.once('end', () => end());
    });
    call.end(body);
  });
}

export class Traffic {
  readonly sent: Sent[] = [];
  #isStopped = false;
  readonly #ended: Promise<unknown>;
  readonly #agent = new Agent({ keepAlive: true });

  /** Half of the clients open a connection for each request, the others keep theirs. */
  constructor(sending: Sending, clients: number) {
    const client = async (_: unknown, index: number) => {
      const own = index % 2 === 0 ? sending : { ...sending, agent: this.#agent };
      while (!this.#isStopped) {
        this.sent.push(await send(own));
        await pause(PAUSE_MS);
      }
    };
    this.#ended = Promise.all(Array.from({ length: clients }, client));
  }

  async stop(): Promise<readonly Sent[]> {
    this.#isStopped = true;
    await this.#ended;
    this.#agent.destroy();
    return this.sent;
  }
}

/** The time between two bursts of a flood, and how many of its requests may wait: a busy machine must not drown. */
const BURST_MS = 10;
const MOST_WAITING = 1_000;

/** Sends requests at a rate, each over a connection of its own, whether or not earlier ones are answered. */
export class Flood {
  readonly #waiting = new Set<Promise<void>>();
  readonly #sent: Sent[] = [];
  readonly #timer: NodeJS.Timeout;
  readonly #beganMs = performance.now();
  #count = 0;

  constructor(sending: Sending, ratePerS: number) {
    this.#timer = setInterval(() => {
      const due = Math.floor(((performance.now() - this.#beganMs) / 1000) * ratePerS) - this.#count;
      this.#count += due;
      for (let left = due; left > 0 && this.#waiting.size < MOST_WAITING; left--) this.#send(sending);
    }, BURST_MS);
  }

  async stop(): Promise<{ readonly sent: readonly Sent[]; readonly seconds: number }> {
    clearInterval(this.#timer);
    const seconds = (performance.now() - this.#beganMs) / 1000;
    await Promise.all(this.#waiting);
    return { sent: this.#sent, seconds };
  }

  #send(sending: Sending): void {
    const answered = send(sending).then((sent) => {
      this.#sent.push(sent);
      this.#waiting.delete(answered);
    });
    this.#waiting.add(answered);
  }
}

/** How many requests ended in which way. */
export function outcomesOf(sent: readonly Sent[]): Record<string, number> {
  const outcomes: Record<string, number> = {};
  for (const { status, problem } of sent) {
    const outcome = problem ?? String(status);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  return outcomes;
}
