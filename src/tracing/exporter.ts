/**
 * Exports spans to the collector in batches, one at a time, from a bounded queue. Spans are dropped and counted if the queue is
 * full, so a slow or dead collector costs bounded memory and delays no request.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { httpCall } from '../core/http-call.ts';
import { counted } from '../core/plural.ts';
import type { Log } from '../observe/log.ts';
import type { Envelope } from './otlp.ts';

/** The receiver of spans. */
export interface Collector {
  /** URL of `/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Times, in milliseconds. */
export interface ExportTimes {
  /** Maximum wait of a span for the rest of its batch. */
  readonly batchMs: number;
  /** Time limit of a request to the collector. */
  readonly answerMs: number;
  /** Pause after the first failure. Doubles with each further failure. */
  readonly pauseMs: number;
}

const TIMES: ExportTimes = { batchMs: 2_000, answerMs: 10_000, pauseMs: 1_000 };
/** Maximum pause, in milliseconds. Also limits `Retry-After`. */
const MAX_PAUSE_MS = 30_000;
/** Attempts after which a batch is dropped. */
const MAX_ATTEMPTS = 6;
/** Maximum batch size. A single request may exceed it. */
const MAX_BATCH_CHARACTERS = 256 * 1024;
/** Maximum queue size: about 2,500 requests. */
const MAX_QUEUED_CHARACTERS = 8 * 1024 * 1024;
const MAX_ANSWER_CHARACTERS = 16 * 1024;
/** Status codes that permit a retry, by the OTLP specification. */
const TRY_AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Spans of one request as a JSON list without brackets. */
interface Queued {
  readonly json: string;
  readonly spans: number;
}

type Sent =
  | { readonly kind: 'taken'; readonly rejected: number; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string; readonly waitMs: number | undefined };

export class Exporter {
  readonly #collector: Collector;
  readonly #envelope: Envelope;
  readonly #log: Log;
  readonly #times: ExportTimes;
  #queue: Queued[] = [];
  #queuedCharacters = 0;
  /** Undefined while idle. */
  #running: Promise<void> | undefined;
  #isClosing = false;
  #isFailing = false;
  #isFull = false;
  #dropped = 0;
  /** `#hurry` ends the current pause, `#abort` the current request. */
  #hurry: () => void = () => {};
  #abort: () => void = () => {};

  constructor(collector: Collector, envelope: Envelope, log: Log, times: Partial<ExportTimes> = {}) {
    this.#collector = collector;
    this.#envelope = envelope;
    this.#log = log;
    this.#times = { ...TIMES, ...times };
  }

  /** Number of spans dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Queues the spans of a request, or drops them if the queue is full. */
  add(json: string, spans: number): void {
    if (this.#queuedCharacters + json.length > MAX_QUEUED_CHARACTERS) {
      this.#dropped += spans;
      this.#noteOverflow();
      return;
    }
    this.#queue.push({ json, spans });
    this.#queuedCharacters += json.length;
    if (this.#queuedCharacters >= MAX_BATCH_CHARACTERS && !this.#isFailing) this.#hurry();
    this.#running ??= this.#run();
  }

  /** Exports the queue within the time limit, then drops the rest and all later spans. */
  async close(milliseconds: number): Promise<void> {
    this.#isClosing = true;
    this.#hurry();
    const timer = setTimeout(() => this.#abort(), milliseconds);
    await this.#running;
    clearTimeout(timer);
    if (this.#dropped > 0) this.#log.warn({ dropped: this.#dropped }, `traces: dropped ${spansOf(this.#dropped)}`);
  }

  async #run(): Promise<void> {
    let isAborted = false;
    this.#abort = () => {
      isAborted = true;
      this.#hurry();
    };
    while (this.#queue.length > 0 && !isAborted) {
      if (this.#queuedCharacters < MAX_BATCH_CHARACTERS) await this.#pause(this.#times.batchMs);
      if (!(await this.#deliver(this.#takeBatch(), () => isAborted))) break;
    }
    if (this.#isClosing) this.#dropAll();
    this.#running = undefined;
  }

  #takeBatch(): Queued {
    let characters = 0;
    let count = 0;
    for (const { json } of this.#queue) {
      characters += json.length;
      if (count > 0 && characters > MAX_BATCH_CHARACTERS) break;
      count++;
    }
    const batch = this.#queue.splice(0, count);
    return { json: batch.map(({ json }) => json).join(), spans: batch.reduce((sum, { spans }) => sum + spans, 0) };
  }

  /** Sends a batch with retries. Returns false if the exporter must stop. */
  async #deliver(batch: Queued, isAborted: () => boolean): Promise<boolean> {
    let sent: Sent = { kind: 'refused', reason: 'the gateway stops' };
    for (let attempt = 0; attempt < MAX_ATTEMPTS && !isAborted(); attempt++) {
      sent = await this.#send(batch);
      if (sent.kind !== 'failed') break;
      this.#noteFailure(sent.reason);
      if (this.#isClosing) break;
      await this.#pause(Math.min(sent.waitMs ?? this.#times.pauseMs * 2 ** attempt, MAX_PAUSE_MS));
    }
    this.#queuedCharacters = this.#queue.reduce((sum, { json }) => sum + json.length, 0);
    if (sent.kind === 'taken') this.#noteSuccess();
    const lost = sent.kind === 'taken' ? sent.rejected : batch.spans;
    if (lost > 0) {
      this.#dropped += lost;
      if (sent.kind !== 'failed') this.#log.warn(`traces: the collector refused ${spansOf(lost)}: ${sent.reason}`);
    }
    return !(this.#isClosing && sent.kind === 'failed');
  }

  #dropAll(): void {
    for (const { spans } of this.#queue) this.#dropped += spans;
    this.#queue = [];
    this.#queuedCharacters = 0;
  }

  /** Waits, but not during shutdown. */
  async #pause(milliseconds: number): Promise<void> {
    if (this.#isClosing) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds).unref();
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#hurry = () => {};
  }

  #noteFailure(reason: string): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#log.warn(`traces: ${this.#collector.url} takes no spans: ${reason}; trying again`);
  }

  #noteOverflow(): void {
    if (this.#isFull || this.#isClosing) return;
    this.#isFull = true;
    this.#log.warn(`traces: ${this.#collector.url} is too slow: the queue is full, so spans are dropped`);
  }

  #noteSuccess(): void {
    if (!this.#isFailing && !this.#isFull) return;
    this.#isFailing = false;
    this.#isFull = false;
    const { url } = this.#collector;
    this.#log.info(
      { dropped: this.#dropped },
      `traces: ${url} takes spans again; dropped so far: ${spansOf(this.#dropped)}`,
    );
  }

  async #send({ json }: Queued): Promise<Sent> {
    const { head, tail } = this.#envelope;
    try {
      return await this.#post(Buffer.from(head + json + tail));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return { kind: 'failed', reason: code ?? message, waitMs: undefined };
    }
  }

  async #post(body: Buffer): Promise<Sent> {
    const { url, headers } = this.#collector;
    const abort = this.#abort;
    const onCall = (call: ClientRequest) => {
      this.#abort = () => {
        abort();
        call.destroy(new Error('the gateway stops'));
      };
    };
    const options = {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'content-length': body.length },
      body,
      timeoutMs: this.#times.answerMs,
      onCall,
      // Node's default agent, which keeps the connection alive for the next batch.
      agent: undefined,
    };
    try {
      return await httpCall(new URL(url), options, async (answer) => readAnswer(answer, await beginningOf(answer)));
    } finally {
      this.#abort = abort;
    }
  }
}

/** Reads the whole body, so that the connection can be reused, and returns its beginning. */
async function beginningOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of answer.setEncoding('utf8')) {
    if (text.length < MAX_ANSWER_CHARACTERS) text += piece;
  }
  return text.slice(0, MAX_ANSWER_CHARACTERS);
}

function readAnswer({ statusCode: status = 0, headers }: IncomingMessage, text: string): Sent {
  if (status >= 200 && status < 300) return readSuccess(text);
  // The body is left out of the message, because it may quote secret headers.
  const reason = `status ${status}`;
  if (!TRY_AGAIN.has(status)) return { kind: 'refused', reason };
  const seconds = Number(headers['retry-after']);
  return { kind: 'failed', reason, waitMs: seconds >= 0 ? seconds * 1000 : undefined };
}

/** Reads the number of rejected spans: a collector may accept a batch partially. */
function readSuccess(text: string): Sent {
  try {
    const { partialSuccess = {} } = JSON.parse(text);
    const { rejectedSpans = 0, errorMessage = '' } = partialSuccess;
    const rejected = Number(rejectedSpans);
    return { kind: 'taken', rejected: rejected > 0 ? rejected : 0, reason: String(errorMessage).slice(0, 200) };
  } catch {
    return { kind: 'taken', rejected: 0, reason: '' };
  }
}

function spansOf(count: number): string {
  return counted(count, 'span');
}
