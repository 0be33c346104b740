/** Answers `GET` and `DELETE /v1/responses/<id>`, which are free, for responses that a host stores for the requesting key. */
import type { ClientError } from '../core/errors.ts';
import { PatientTimer } from '../core/patient-timer.ts';
import { printableName } from '../core/printable.ts';
import { KEPT_RESPONSE } from '../dialects/responses/responses.ts';
import type { Exchange } from '../http/exchange.ts';
import { Meter } from '../relay/meter.ts';
import type { RelayResult } from '../relay/relay.ts';
import { relayWhole } from '../relay/response.ts';
import type { Attempt } from '../upstream/attempt.ts';
import type { Member } from '../upstream/provider.ts';
import { providerOfUpstream } from './kept.ts';
import { admitListing, identifyLister, type Refused, refused } from './listing.ts';
import type { PipelineParts } from './parts.ts';
import { finish } from './respond.ts';

/** Timeout of the host, in milliseconds. */
const AT_HOST_MS = 30_000;

/**
 * Relays the host's answer, or returns the refusal. Checks the ownership of the response before it uses up an entry of the
 * key's window.
 */
export async function serveKept(
  { ledger, keeper, dispatcher }: PipelineParts,
  exchange: Exchange,
  id: string,
): Promise<Refused | undefined> {
  const lister = await identifyLister(ledger, exchange);
  if (!lister.ok) return lister.refused;
  const { keyId } = lister.key;
  const [kept] = await keeper.find(keyId, [id]);
  const provider = kept && providerOfUpstream(kept.upstream);
  const member = dispatcher.parts.providers.get(provider ?? '')?.members.find(({ name }) => name === kept?.upstream);
  // Output items have ids too, but cannot be fetched by this path.
  if (kept?.responseId !== id || provider === undefined || member === undefined) return refused(notFound(id));
  const access = await admitListing(ledger, exchange);
  if (!access.ok) return access.refused;
  const isDeleted = exchange.request.method === 'DELETE';
  const { isGone, relayed } = await ask(
    member,
    exchange,
    isDeleted ? 'DELETE' : 'GET',
    id,
    dispatcher.secretsOf(provider),
  );
  if (isGone || (isDeleted && relayed.termination.kind === 'json')) await keeper.drop(keyId, id);
  if (isGone) return refused(notFound(id));
  finish(exchange, relayed.termination);
  return undefined;
}

interface HostAnswer {
  /** The host no longer has the response. */
  readonly isGone: boolean;
  readonly relayed: RelayResult;
}

async function ask(
  member: Member,
  exchange: Exchange,
  method: 'GET' | 'DELETE',
  id: string,
  secrets: ReturnType<PipelineParts['dispatcher']['secretsOf']>,
): Promise<HostAnswer> {
  const attempt: Attempt = member.ask(method, `${KEPT_RESPONSE.path}/${id}`);
  exchange.onGone(() => attempt.abort());
  const timer = new PatientTimer(() => attempt.abort(), AT_HOST_MS);
  try {
    const relayed = await relayWhole(attempt, new Meter(0), {
      dialect: KEPT_RESPONSE,
      translateAnswer: undefined,
      secrets,
    });
    const isGone = await attempt.head().then(
      ({ status }) => status === 404,
      () => false,
    );
    return { isGone, relayed };
  } finally {
    timer.clear();
  }
}

function notFound(id: string): ClientError {
  return { code: 'invalid_request', status: 404, message: `Response with id '${printableName(id)}' not found.` };
}
