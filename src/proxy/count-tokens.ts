/** Answers requests to count tokens, which are free: by the host where it can count, otherwise by the gateway. */

import type { ModelRequest } from '../dialects/dialect.ts';
import { estimateInput, sampleInput } from '../dialects/input.ts';
import { COUNT_TOKENS } from '../dialects/messages/count-tokens.ts';
import { credentialOf } from '../http/authorization.ts';
import type { Exchange } from '../http/exchange.ts';
import { Meter } from '../relay/meter.ts';
import type { StreamSink, Termination } from '../relay/relay.ts';
import type { TokenCounter } from '../tokens/counter.ts';
import { countSample } from '../tokens/usage.ts';
import type { Dispatcher } from './dispatch.ts';
import { admitListing, type ListingAccess, type Refused, refused } from './listing.ts';
import type { PipelineParts } from './parts.ts';
import type { Target } from './plan.ts';
import { readBody } from './read-body.ts';
import { permit, resolveRequest } from './resolve.ts';
import { finish } from './respond.ts';

/** Sends the count, or returns why it is refused. Throws a BodyError. */
export async function countTokens(parts: PipelineParts, exchange: Exchange): Promise<Refused | undefined> {
  const credential = credentialOf(exchange.request.headers);
  if (!credential.ok) return refused(credential.error);
  const identity = await parts.ledger.identify(credential.keyHash);
  exchange.showLimits(identity.figures);
  // Whoever may not list models is refused there.
  const reading = identity.kind === 'enabled' ? { ...identity, refusal: undefined } : undefined;
  if (reading === undefined) return refusedOf(await admitListing(parts.ledger, exchange));
  exchange.identifyKey(reading.keyId);
  const body = await readBody(exchange, reading, parts.bodies, parts.catalog);
  const resolution = resolveRequest(parts.catalog, COUNT_TOKENS, body);
  exchange.nameModel(resolution.modelName);
  const permission = permit(resolution, reading.allowlist, parts.catalog);
  if (!permission.ok) return refused(permission.error);
  const refusal = refusedOf(await admitListing(parts.ledger, exchange));
  if (refusal !== undefined) return refusal;
  const { request, targets } = permission.permitted;
  const [target] = targets;
  const counted = target.response === undefined ? await countAtHost(parts.dispatcher, exchange, target) : undefined;
  if (counted !== undefined) {
    exchange.serveBy(target.model.id);
    finish(exchange, counted);
  } else {
    exchange.sendJson(200, JSON.stringify({ input_tokens: await countHere(parts.counter, request) }));
  }
  return undefined;
}

function refusedOf(access: ListingAccess): Refused | undefined {
  return access.ok ? undefined : access.refused;
}

/** Undefined if the host cannot count. */
async function countAtHost(
  dispatcher: Dispatcher,
  exchange: Exchange,
  { model, ...hosted }: Target,
): Promise<Termination | undefined> {
  const dispatch = dispatcher.dispatch({
    requestId: exchange.requestId,
    request: hosted.request,
    headers: exchange.headers(COUNT_TOKENS.headers),
    routes: [{ model, hosted, capTokens: undefined }],
    meter: new Meter(0),
    allowance: () => NO_STREAM.allowance,
    sink: NO_STREAM.sink,
  });
  exchange.onGone(() => dispatch.abort());
  const { termination } = await dispatch.run();
  const status = termination.kind === 'error' ? termination.error.failure?.status : undefined;
  return status !== undefined && CANNOT_COUNT.has(status) ? undefined : termination;
}

/** What a host answers that has no such path. */
const CANNOT_COUNT: ReadonlySet<number> = new Set([404, 405, 501]);

/** A count is not streamed. */
const NO_STREAM: { readonly sink: StreamSink; readonly allowance: { tokens: number; extend(): Promise<undefined> } } = {
  sink: { started: false, gone: false, start: () => {}, write: () => undefined },
  allowance: { tokens: Number.POSITIVE_INFINITY, extend: async () => undefined },
};

async function countHere(counter: TokenCounter, request: ModelRequest): Promise<number> {
  const { text, extraTokens } = sampleInput(request);
  const counted = await countSample(counter, text);
  return counted === undefined ? estimateInput(request) : counted + extraTokens;
}
