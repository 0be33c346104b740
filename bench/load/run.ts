/** One run of the load generator, from its connections to its figures. */

import { percentilesOf } from '../../test/support/statistics.ts';
import type { LoadJob, LoadResult } from '../messages.ts';
import { requestBytes } from '../payloads.ts';
import { Connection } from './connection.ts';
import { Pacer, sharedNowMs } from './pacer.ts';

/** More requests than this under way, and the server does not keep up with the rate at all. */
const MAX_OPEN_CONNECTIONS = 2_000;
/** Of those that arrive at a rate, so many are expected to be under way at once: others get a connection when they come. */
const EXPECTED_SECONDS = 0.05;
/** So that a tick is never before the request that it is for, when the two clocks are read one after the other. */
const TICK_AFTER_MS = 0.02;

export class Run {
  readonly #job: LoadJob;
  readonly #request: Buffer;
  readonly #connections = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #firstBytesMs: number[] = [];
  readonly #totalsMs: number[] = [];
  readonly #done = Promise.withResolvers<void>();
  #startedAtMs = 0;
  #lastAnswerAtMs = 0;
  #sent = 0;
  #underWay = 0;
  #lineFeeds = 0;
  #sending = true;
  #failure: string | undefined;

  constructor(job: LoadJob) {
    this.#job = job;
    this.#request = requestBytes(job);
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

  /** Connections are made before the clock starts. */
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
      onFault: (why) => this.#fail(why),
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

  /** One answer calls for the next request, until there were enough. */
  #sendNext(connection: Connection, dueAtMs: number): void {
    const { length } = this.#job;
    if ('requests' in length && this.#sent >= length.requests) this.#stop();
    if (this.#sending) this.#send(connection, dueAtMs);
  }

  /**
   * Requests go out when they are due; where no connection is idle, another one is made. Their time counts from when
   * they were due, whatever kept them: a server that stalls delays all that come meanwhile, and so does the generator.
   */
  async #sendAtRate(perSecond: number): Promise<void> {
    const { length } = this.#job;
    const total = 'requests' in length ? length.requests : Math.floor((perSecond * length.milliseconds) / 1000);
    const sendDue = () => {
      const due = Math.min(total, Math.floor(((performance.now() - this.#startedAtMs) * perSecond) / 1000));
      while (this.#sent < due && this.#sending) {
        this.#sendAnyhow(this.#startedAtMs + ((this.#sent + 1) * 1000) / perSecond);
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

  #sendAnyhow(dueAtMs: number): void {
    const idle = this.#idle.pop();
    if (idle !== undefined) this.#send(idle, dueAtMs);
    else if (this.#connections.size >= MAX_OPEN_CONNECTIONS) this.#fail('the server does not keep up with the rate');
    else {
      this.#sent++;
      this.#underWay++;
      this.#connect((connection) => connection.send(this.#request, dueAtMs));
    }
  }

  #send(connection: Connection, dueAtMs: number): void {
    this.#sent++;
    this.#underWay++;
    connection.send(this.#request, dueAtMs);
  }

  #answered(connection: Connection, firstByteAtMs: number, endAtMs: number): void {
    this.#underWay--;
    this.#lastAnswerAtMs = endAtMs;
    const { status, lineFeeds } = connection.reader;
    if (status !== 200) this.#fail(`the server answered ${status}`);
    this.#lineFeeds += lineFeeds;
    this.#firstBytesMs.push(firstByteAtMs - connection.dueAtMs);
    this.#totalsMs.push(endAtMs - connection.dueAtMs);
    if (this.#job.arrivals.kind === 'closed') this.#sendNext(connection, endAtMs);
    else this.#idle.push(connection);
    if (!this.#sending && this.#underWay === 0) this.#done.resolve();
  }

  #stop(): void {
    this.#sending = false;
    if (this.#underWay === 0) this.#done.resolve();
  }

  #fail(why: string): void {
    this.#failure ??= why;
    this.#sending = false;
    this.#done.resolve();
  }
}
