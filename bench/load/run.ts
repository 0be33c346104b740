/** One run of the load generator, from its connections to its figures. */

import { percentilesOf } from '../../test/support/statistics.ts';
import type { LoadJob, LoadResult } from '../messages.ts';
import { requestBytes } from '../payloads.ts';
import { USER_HEADER, userName } from '../users.ts';
import { Connection } from './connection.ts';
import { Pacer, sharedNowMs } from './pacer.ts';

/** With more connections than this the server clearly does not keep up with the rate. */
const MAX_OPEN_CONNECTIONS = 2_000;
/**
 * At a fixed rate, connections for the requests of this time are opened in advance; others are
 * opened when needed.
 */
const EXPECTED_SECONDS = 0.05;
/**
 * The two clocks are read one after the other. This keeps a tick from coming before its request is
 * due.
 */
const TICK_AFTER_MS = 0.02;

export class Run {
  readonly #job: LoadJob;
  readonly #request: () => Buffer;
  readonly #connections = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #firstBytesMs: number[] = [];
  readonly #totalsMs: number[] = [];
  readonly #done = Promise.withResolvers<void>();
  #startedAtMs = 0;
  #lastAnswerAtMs = 0;
  #sent = 0;
  #inFlight = 0;
  #lineFeeds = 0;
  #sending = true;
  #failure: string | undefined;

  constructor(job: LoadJob) {
    this.#job = job;
    this.#request = requestsOf(job);
  }

  async measure(): Promise<LoadResult> {
    const { arrivals } = this.#job;
    const connections =
      arrivals.kind === 'closed' ? arrivals.connections : Math.ceil(arrivals.perSecond * EXPECTED_SECONDS);
    await Promise.race([this.#done.promise, this.#open(connections)]);
    this.#startedAtMs = performance.now();
    if (this.#failure === undefined) {
      if (arrivals.kind === 'closed') await this.#sendInTurn();
      else await this.#sendAtRate(arrivals.perSecond);
    }
    for (const connection of this.#connections) connection.close();
    return {
      answers: this.#totalsMs.length,
      events: this.#lineFeeds / 2,
      seconds: (this.#lastAnswerAtMs - this.#startedAtMs) / 1000,
      firstByteMs: percentilesOf(this.#firstBytesMs),
      totalMs: percentilesOf(this.#totalsMs),
      failure: this.#failure,
    };
  }

  /** Opens connections before the clock starts. */
  #open(count: number): Promise<void> {
    return new Promise((resolve) => {
      const onOpen = (connection: Connection) => {
        this.#idle.push(connection);
        if (this.#idle.length === count) resolve();
      };
      for (let i = 0; i < count; i++) this.#connect(onOpen);
    });
  }

  #connect(onOpen: (connection: Connection) => void): void {
    const connection = new Connection(this.#job.port, {
      onOpen,
      onAnswer: (...answer) => this.#answered(...answer),
      onError: (reason) => this.#fail(reason),
    });
    this.#connections.add(connection);
  }

  async #sendInTurn(): Promise<void> {
    const { length } = this.#job;
    const clock = 'milliseconds' in length ? setTimeout(() => this.#stop(), length.milliseconds) : undefined;
    for (const connection of this.#idle.splice(0)) this.#sendNext(connection, performance.now());
    await this.#done.promise;
    clearTimeout(clock);
  }

  /** Sends the next request after an answer, until there are enough. */
  #sendNext(connection: Connection, dueAtMs: number): void {
    const { length } = this.#job;
    if ('requests' in length && this.#sent >= length.requests) this.#stop();
    if (this.#sending) this.#send(connection, dueAtMs);
  }

  /**
   * Sends requests when they are due, on a new connection if none is idle. Latencies count from
   * when a request was due, so they include all delays of a stalled server, and those of the load
   * generator.
   */
  async #sendAtRate(perSecond: number): Promise<void> {
    const { length } = this.#job;
    const total = 'requests' in length ? length.requests : Math.floor((perSecond * length.milliseconds) / 1000);
    const sendDue = () => {
      const due = Math.min(total, Math.floor(((performance.now() - this.#startedAtMs) * perSecond) / 1000));
      while (this.#sent < due && this.#sending) {
        this.#sendNow(this.#startedAtMs + ((this.#sent + 1) * 1000) / perSecond);
      }
      if (this.#sent >= total) this.#stop();
    };
    const pacer = await Pacer.create({ perSecond, total }, sendDue);
    const sharedStartMs = sharedNowMs();
    this.#startedAtMs = performance.now();
    pacer.start(sharedStartMs + TICK_AFTER_MS);
    await this.#done.promise;
    await pacer.stop();
  }

  #sendNow(dueAtMs: number): void {
    const idle = this.#idle.pop();
    if (idle !== undefined) this.#send(idle, dueAtMs);
    else if (this.#connections.size >= MAX_OPEN_CONNECTIONS) this.#fail('the server does not keep up with the rate');
    else {
      this.#sent++;
      this.#inFlight++;
      this.#connect((connection) => connection.send(this.#request(), dueAtMs));
    }
  }

  #send(connection: Connection, dueAtMs: number): void {
    this.#sent++;
    this.#inFlight++;
    connection.send(this.#request(), dueAtMs);
  }

  #answered(connection: Connection, firstByteAtMs: number, endAtMs: number): void {
    this.#inFlight--;
    this.#lastAnswerAtMs = endAtMs;
    const { failure, lineFeeds } = connection.reader;
    if (failure !== undefined) this.#fail(failure);
    this.#lineFeeds += lineFeeds;
    this.#firstBytesMs.push(firstByteAtMs - connection.dueAtMs);
    this.#totalsMs.push(endAtMs - connection.dueAtMs);
    if (this.#job.arrivals.kind === 'closed') this.#sendNext(connection, endAtMs);
    else this.#idle.push(connection);
    if (!this.#sending && this.#inFlight === 0) this.#done.resolve();
  }

  #stop(): void {
    this.#sending = false;
    if (this.#inFlight === 0) this.#done.resolve();
  }

  #fail(reason: string): void {
    this.#failure ??= reason;
    this.#sending = false;
    this.#done.resolve();
  }
}

/** What makes the next request: always the same one, unless they name end users. */
function requestsOf({ users, ...spec }: LoadJob): () => Buffer {
  const headerOf = (user: number) => `${USER_HEADER}: ${userName(user)}`;
  const request = requestBytes(users === undefined ? spec : { ...spec, headers: [...spec.headers, headerOf(0)] });
  if (users === undefined) return () => request;
  const at = request.indexOf(headerOf(0));
  return () => {
    const next = Buffer.from(request);
    next.write(headerOf(Math.floor(Math.random() * users)), at);
    return next;
  };
}
