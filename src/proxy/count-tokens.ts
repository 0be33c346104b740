/**
 * Answers token-count requests, which are free: at the host if it can count, otherwise with the gateway's tokenizer. A count
 * takes a slot of its key. Its failures do not affect the circuit breaker of the host, so it cannot disturb other requests.
 */

import { PatientTimer } from '../core/patient-timer.ts';
import type { Dialect, Fields } from '../dialects/dialect.ts';
import { GEMINI_COUNT_TOKENS } from '../dialects/gemini/gemini-count-tokens.ts';
import { COUNT_TOKENS } from '../dialects/messages/messages-count-tokens.ts';
import type { Exchange } from '../http/exchange.ts';
import { addressOf } from '../http/routes.ts';
import { Meter } from '../relay/meter.ts';
import type { Termination } from '../relay/relay.ts';
import { relayWhole } from '../relay/response.ts';
import { countInput } from '../tokens/input.ts';
import type { Dispatcher } from './dispatch.ts';
import { admitListing, identifyLister, type Refused, refused } from './listing.ts';
import type { PipelineParts } from './parts.ts';
import type { DialectHeaders, Permitted, Target } from './plan.ts';
import { readBody } from './read-body.ts';
import { permit, resolveRequest } from './resolve.ts';
import { errorOf, finish } from './respond.ts';

/** Timeout of a count at the host, in milliseconds. A long input takes several hundred. */
const COUNT_AT_HOST_MS = 10_000;

/** The count request of a dialect, and the format of its answer. */
interface Count {
  readonly dialect: Dialect;
  answer(tokens: number): Fields;
}

const COUNTS = {
  messages: { dialect: COUNT_TOKENS, answer: (tokens) => ({ input_tokens: tokens }) },
  gemini: { dialect: GEMINI_COUNT_TOKENS, answer: (tokens) => ({ totalTokens: tokens }) },
} as const satisfies Record<string, Count>;

/** The dialects with a path for counts. */
export type CountDialect = keyof typeof COUNTS;

/** Sends the count, or returns why it is refused. Throws a BodyError. */
export async function countTokens(
  parts: PipelineParts,
  exchange: Exchange,
  asked: CountDialect,
): Promise<Refused | undefined> {
  const { dialect } = COUNTS[asked];
  const { ledger, bodies, catalog } = parts;
  const lister = await identifyLister(ledger, exchange);
  if (!lister.ok) return lister.refused;
  // Counts are free, so the spending limits do not refuse them.
  const reading = { ...lister.key, refusal: undefined };
  const body = await readBody(exchange, reading, bodies, catalog);
  const headers = exchange.headers(dialect.headers);
  const resolution = resolveRequest(catalog, dialect, body, headers, { address: addressOf(exchange.path) });
  exchange.nameModel(resolution.modelName);
  const permission = permit(resolution, reading.allowlist, catalog);
  if (!permission.ok) return refused(permission.error);
  const { requestId } = exchange;
  const access = await admitListing(ledger, exchange, requestId);
  if (!access.ok) return access.refused;
  bodies.countUnpaid(reading.keyId, exchange.bodyBytes);
  let counted: Termination;
  try {
    counted = await count(parts, exchange, permission.permitted, COUNTS[asked]);
  } finally {
    // Before the answer is sent, so that a sequential client never meets its own slot.
    await ledger.endCount(requestId);
  }
  finish(exchange, counted);
  return undefined;
}

async function count(
  { dispatcher, counter }: PipelineParts,
  exchange: Exchange,
  { request, headers, targets: [target] }: Permitted,
  { answer }: Count,
): Promise<Termination> {
  const counted = target.response === undefined ? await countAtHost(dispatcher, exchange, target, headers) : undefined;
  if (counted !== undefined) exchange.serveBy(target.model.id);
  if (counted !== undefined || exchange.gone) return counted ?? { kind: 'client_gone' };
  const body = JSON.stringify(answer(await countInput(counter, request, target.model)));
  return { kind: 'json', body: Buffer.from(body) };
}

/** The host's count, or its rejection of an invalid request. Undefined if the host does not count, for any reason. */
async function countAtHost(
  dispatcher: Dispatcher,
  exchange: Exchange,
  { model, request }: Target,
  headers: DialectHeaders,
): Promise<Termination | undefined> {
  const attempt = dispatcher.parts.providers.get(model.provider)?.healthyFor(model.upstream)?.attemptUntracked({
    request,
    model: model.upstream,
    capTokens: undefined,
    isTranslated: false,
    headers,
  });
  if (attempt === undefined) return undefined;
  exchange.onGone(() => attempt.abort());
  const timer = new PatientTimer(() => attempt.abort(), COUNT_AT_HOST_MS);
  const options = {
    dialect: request.dialect,
    translateAnswer: undefined,
    secrets: dispatcher.secretsOf(model.provider),
  };
  try {
    const { termination } = await relayWhole(attempt, new Meter(0), options);
    return termination.kind === 'json' || errorOf(termination)?.code === 'invalid_request' ? termination : undefined;
  } finally {
    timer.clear();
  }
}
