/** The load generator, a process of its own: sends one kind of request, and times the answers. */
import { connect, type Socket } from 'node:net';
import type { LoadJob, LoadResult } from './messages.ts';
import { requestBytes } from './payloads.ts';
import { ResponseReader } from './response-reader.ts';
import { percentilesOf } from './statistics.ts';

const READ_BYTES = 64 * 1024;
/** Timers of Node fire once a millisecond at the best: being late by as much is the generator's fault, not the server's. */
const TIMER_GRAIN_MS = 1.5;
/** More requests than this under way, and the server does not keep up with the rate at all. */
const MAX_OPEN_CONNECTIONS = 2_000;

/** Told of an answer: when its body began and ended, on the monotonic clock. */
type OnAnswer = (connection: Connection, firstByteAtMs: number, endAtMs: number) => void;

/** A kept-alive connection, with at most one request under way. */
class Connection {
  readonly reader = new ResponseReader();
  sentAtMs = 0;
  readonly #socket: Socket;
  readonly #onAnswer: OnAnswer;
  #firstByteAtMs = 0;

  constructor(
    port: number,
    onOpen: (connection: Connection) => void,
    onAnswer: OnAnswer,
    onFault: (why: string) => void,
  ) {
    this.#onAnswer = onAnswer;
    this.#socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(READ_BYTES),
        callback: (length, buffer) => {
          this.#receive((buffer as Buffer).subarray(0, length));
          return true;
        },
      },
    });
    this.#socket.once('connect', () => onOpen(this));
    this.#socket.on('error', (error) => onFault(error.message));
    this.#socket.on('close', () => onFault('the server closed a connection'));
  }

  send(request: Buffer, sentAtMs: number): void {
    this.sentAtMs = sentAtMs;
    this.#firstByteAtMs = 0;
    this.reader.bodyBytes = 0;
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.removeAllListeners('close').destroy();
  }

  #receive(bytes: Buffer): void {
    const isComplete = this.reader.take(bytes);
    if (this.#firstByteAtMs === 0 && this.reader.bodyBytes > 0) this.#firstByteAtMs = performance.now();
    if (isComplete) this.#onAnswer(this, this.#firstByteAtMs, performance.now());
  }
}

/** One run, from its connections to its figures. */
class Run {
  readonly #job: LoadJob;
  readonly #request: Buffer;
  readonly #connections = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #firstBytesMs: number[] = [];
  readonly #totalsMs: number[] = [];
  readonly #done = Promise.withResolvers<void>();
  #startedAtMs = 0;
  #lastAnswerAtMs = 0;
  #underWay = 0;
  #lineFeeds = 0;
  #sending = true;
  #failure: string | undefined;

  constructor(job: LoadJob) {
    this.#job = job;
    this.#request = requestBytes(job.port, job.key, job.stream);
  }

  async measure(): Promise<LoadResult> {
    const { arrivals } = this.#job;
    const connections = arrivals.kind === 'closed' ? arrivals.connections : Math.ceil(arrivals.perSecond / 20);
    await Promise.race([this.#done.promise, this.#open(connections)]);
    this.#startedAtMs = performance.now();
    if (this.#failure === undefined) {
      if (arrivals.kind === 'closed') this.#sendInTurn();
      else this.#sendAtRate(arrivals.perSecond);
      await this.#done.promise;
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
    const connection = new Connection(
      this.#job.port,
      onOpen,
      (...answer) => this.#answered(...answer),
      (why) => this.#fail(why),
    );
    this.#connections.add(connection);
  }

  #sendInTurn(): void {
    for (const connection of this.#idle.splice(0)) this.#send(connection, performance.now());
    setTimeout(() => this.#stop(), this.#job.durationMs);
  }

  /** Requests go out when they are due; where no connection is idle, another one is made. */
  #sendAtRate(perSecond: number): void {
    const total = Math.floor((perSecond * this.#job.durationMs) / 1000);
    let sent = 0;
    const timer = setInterval(() => {
      const nowMs = performance.now();
      const due = Math.min(total, Math.floor(((nowMs - this.#startedAtMs) * perSecond) / 1000));
      for (; sent < due; sent++) {
        const dueAtMs = this.#startedAtMs + ((sent + 1) * 1000) / perSecond;
        this.#sendAnyhow(Math.min(nowMs, dueAtMs + TIMER_GRAIN_MS));
      }
      if (sent < total && this.#failure === undefined) return;
      clearInterval(timer);
      this.#stop();
    }, 1);
  }

  #sendAnyhow(countsFromMs: number): void {
    const idle = this.#idle.pop();
    if (idle !== undefined) this.#send(idle, countsFromMs);
    else if (this.#connections.size >= MAX_OPEN_CONNECTIONS) this.#fail('the server does not keep up with the rate');
    else {
      this.#underWay++;
      this.#connect((connection) => {
        this.#underWay--;
        this.#send(connection, countsFromMs);
      });
    }
  }

  #send(connection: Connection, countsFromMs: number): void {
    this.#underWay++;
    connection.send(this.#request, countsFromMs);
  }

  #answered(connection: Connection, firstByteAtMs: number, endAtMs: number): void {
    this.#underWay--;
    this.#lastAnswerAtMs = endAtMs;
    const { status, lineFeeds } = connection.reader;
    if (status !== 200) this.#fail(`the server answered ${status}`);
    this.#lineFeeds += lineFeeds;
    this.#firstBytesMs.push(firstByteAtMs - connection.sentAtMs);
    this.#totalsMs.push(endAtMs - connection.sentAtMs);
    if (this.#sending && this.#job.arrivals.kind === 'closed') this.#send(connection, endAtMs);
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

process.on('message', async (job: LoadJob) => {
  process.send?.(await new Run(job).measure());
});
process.send?.('ready');
