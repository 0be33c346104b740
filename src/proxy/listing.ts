/** Admits free requests: model listings and token counts. They share a rate-limit window. */
import { type ClientError, rateLimited } from '../core/errors.ts';
import { counted } from '../core/plural.ts';
import { credentialOf, INVALID_API_KEY } from '../http/authorization.ts';
import type { Exchange } from '../http/exchange.ts';
import type { AtLevel, EnabledKey, KeyAccount, Ledger } from '../ledger/ledger.ts';
import type { BodyReading } from './read-body.ts';
import { disabledAt, keyDisabled } from './refusals.ts';

/** A refused listing. */
export interface Refused {
  readonly error: ClientError;
  /** The cause within its error code. */
  readonly reason: string;
  /** Short description for the operator, if the reason is not specific enough. */
  readonly cause?: string;
  /** Undefined for the key itself. */
  readonly level?: AtLevel['level'];
}

export function refused(error: ClientError, reason: string = error.code): Refused {
  return { error, reason };
}

/** Retry-After for a busy slot, in seconds. The time at which a slot is released is unknown. */
const SLOT_SOON_S = 1;

export type ListingAccess =
  | {
      readonly ok: true;
      readonly allowlist: readonly string[] | null;
      readonly account: KeyAccount;
      readonly reading: BodyReading;
    }
  | { readonly ok: false; readonly refused: Refused };

export type Lister =
  | { readonly ok: true; readonly key: EnabledKey }
  | { readonly ok: false; readonly refused: Refused };

/** Identifies the key of a listing, without using up an entry of its window. */
export async function identifyLister(ledger: Ledger, exchange: Exchange): Promise<Lister> {
  const credential = credentialOf(exchange.request.headers, exchange.request.url);
  if (!credential.ok) return { ok: false, refused: refused(credential.error) };
  const identity = await ledger.identify(credential.keyHash, 'listings');
  exchange.showLimits(identity.figures);
  if (identity.kind === 'unknown') return { ok: false, refused: refused(INVALID_API_KEY) };
  exchange.identifyKey(identity.keyId);
  if (identity.kind === 'disabled') return { ok: false, refused: refusedAsDisabled(identity) };
  return { ok: true, key: identity };
}

function refusedAsDisabled(at: AtLevel): Refused {
  return { ...refused(keyDisabled(at.level)), cause: disabledAt(at), level: at.level };
}

/** Identifies the key of a listing and uses up an entry of its window; with an id, also takes a slot for a count. */
export async function admitListing(ledger: Ledger, exchange: Exchange, countId?: string): Promise<ListingAccess> {
  const no = (error: ClientError, reason?: string) => ({ ok: false, refused: refused(error, reason) }) as const;
  const credential = credentialOf(exchange.request.headers, exchange.request.url);
  if (!credential.ok) return no(credential.error);
  const admission = await ledger.admitListing(credential.keyHash, countId);
  exchange.showLimits(admission.figures);
  if (admission.kind === 'unknown') return no(INVALID_API_KEY);
  exchange.identifyKey(admission.keyId);
  switch (admission.kind) {
    case 'disabled':
      return { ok: false, refused: refusedAsDisabled(admission) };
    case 'limited': {
      const message = `The limit of ${counted(admission.limit, 'model listing')} per minute is reached.`;
      return no(rateLimited(message, admission.retryAfterS), 'model_listings_per_minute');
    }
    case 'busy': {
      const message = `The limit of ${counted(admission.limit, 'concurrent request')} is reached.`;
      return no(rateLimited(message, SLOT_SOON_S), 'concurrency');
    }
    case 'admitted':
      return { ok: true, ...admission, reading: { ...admission, refusal: undefined } };
  }
}
