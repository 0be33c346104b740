/**
 * The access log: one line for each request, and a warning while requests are refused for lack of
 * resources. Metrics count the same.
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

/** Logs a request that has ended. Never logs its body or its key. */
export function logExchange(log: Log, exchange: Exchange): void {
  // Health checks come every few seconds.
  const level = isUnderV1(exchange.path) ? 'info' : 'debug';
  if (!log.isLevelEnabled(level)) return;
  const { requestId, request, keyId, model, ageMs } = exchange;
  // A client may have put its key into the path by mistake.
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

/** Counts a request that has ended, for metrics: its answer, and its refusal if it came without a valid key. */
export function countExchange(tally: TallyCounter, exchange: Exchange): void {
  if (!isUnderV1(exchange.path)) return;
  tally.countResponse(statusShown(exchange));
  const { error, keyId } = exchange;
  // Overload is counted where it is noticed, and the rest with its key.
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

/** Says how many requests a state has cost that cannot be used. */
export function logFailed(log: Log, failed: number): void {
  log.error({ failed }, `${counted(failed, 'request')} failed in the last seconds, since the state cannot be used`);
}

const REASONS: Readonly<Record<Pressure, string>> = {
  connections: 'all connections are in use (max_connections)',
  loop_delay: 'the event loop is too slow (overload.loop_delay)',
  memory: 'the process uses too much memory (overload.memory)',
};
