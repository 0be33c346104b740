/**
 * The access log: one line per request, a summary of requests refused before their key is known, and a warning while
 * requests are refused for lack of resources. Metrics count the same.
 */
import { counted } from '../core/plural.ts';
import { printableName } from '../core/printable.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Pressure } from '../http/pressure.ts';
import { isUnderV1 } from '../http/routes.ts';
import type { Log } from '../observe/log.ts';
import type { TallyCounter } from '../observe/tally.ts';

/** The status that logs show, as nginx's do, for a client that hung up before its answer. */
const CLIENT_CLOSED_REQUEST = 499;

/** Maximum lines per interval for requests refused before their key was known. Further requests are only counted. */
const REFUSED_LINES = 10;
/** That interval, in milliseconds. */
const REFUSED_INTERVAL_MS = 10_000;

/** Never logs the body of a request, or its key. */
export class AccessLog {
  readonly #log: Log;
  /** Requests refused before their key was known, in the current interval. */
  #refused = 0;
  /** The number of them without a line, by error code. */
  readonly #omitted = new Map<string, number>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Logs a finished request. */
  add(exchange: Exchange): void {
    // Health checks arrive every few seconds.
    const level = isUnderV1(exchange.path) ? 'info' : 'debug';
    if (!this.#log.isLevelEnabled(level)) return;
    const { error, keyId } = exchange;
    // Limited, because anyone can send such requests and fill the disk with log lines.
    if (error === undefined || keyId !== undefined || this.#hasLine(error.code))
      logExchange(this.#log, level, exchange);
  }

  #hasLine(code: string): boolean {
    if (this.#refused === 0) setTimeout(() => this.#summarize(), REFUSED_INTERVAL_MS).unref();
    this.#refused++;
    if (this.#refused <= REFUSED_LINES) return true;
    this.#omitted.set(code, (this.#omitted.get(code) ?? 0) + 1);
    return false;
  }

  #summarize(): void {
    const refused = Object.fromEntries(this.#omitted);
    const count = this.#refused - REFUSED_LINES;
    this.#refused = 0;
    this.#omitted.clear();
    if (count <= 0) return;
    const codes = Object.entries(refused).map(([code, number]) => `${code} ${number}`);
    const requests = counted(count, 'more request');
    this.#log.warn(
      { refused },
      `${requests} without a valid key refused in the last ${REFUSED_INTERVAL_MS / 1_000} s: ${codes.join(', ')}`,
    );
  }
}

function logExchange(log: Log, level: 'info' | 'debug', exchange: Exchange): void {
  const { requestId, request, keyId, model, ageMs } = exchange;
  // Cleaned, because a client may have put arbitrary text, even a key, into the path.
  const path = printableName(exchange.path);
  const method = request.method ?? '';
  const status = statusShown(exchange);
  const error = exchange.error?.code;
  const subject = [model, error, keyId].filter((part) => part !== undefined).join(', ');
  log[level](
    { request_id: requestId, method, path, key: keyId, model, status, error, ms: ageMs },
    `${requestId} ${method} ${path} ${status} in ${ageMs} ms${subject === '' ? '' : ` (${subject})`}`,
  );
}

/** Counts an ended request, for metrics: its answer, and its refusal if it came without a valid key. */
export function countExchange(tally: TallyCounter, exchange: Exchange): void {
  if (!isUnderV1(exchange.path)) return;
  tally.countResponse(statusShown(exchange));
  const { error, keyId } = exchange;
  // Overload is counted at its source, and other refusals with their key.
  const isCounted = keyId !== undefined || error?.code === 'rate_limited' || error?.code === 'internal_error';
  if (error !== undefined && !isCounted) tally.countRefusal(error.code, error.code, undefined);
}

function statusShown({ gone, status }: Exchange): number {
  return gone ? CLIENT_CLOSED_REQUEST : status;
}

/** Warns that requests or connections were refused, and names the setting that limits them. */
export function logPressure(log: Log, refused: number, cause: Pressure): void {
  log.warn({ refused, cause }, `${refused} requests or connections refused in the last seconds: ${REASONS[cause]}`);
}

/** Logs the number of requests that failed because of an unusable state. */
export function logFailed(log: Log, failed: number): void {
  log.error({ failed }, `${counted(failed, 'request')} failed in the last seconds, since the state cannot be used`);
}

const REASONS: Readonly<Record<Pressure, string>> = {
  connections: 'all connections are in use (max_connections)',
  loop_delay: 'the event loop is too slow (overload.loop_delay)',
  memory: 'the process uses too much memory (overload.memory)',
};
