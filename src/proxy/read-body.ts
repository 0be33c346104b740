/** Reads the body of a request, unless its key exceeds its reading quota or would be refused regardless of the body. */
import type { Catalog } from '../catalog/catalog.ts';
import { mayBeFree } from '../catalog/cost.ts';
import type { BodyRefusal } from '../http/body.ts';
import { type BodyLimiter, LARGE_BODY_BYTES } from '../http/body-limiter.ts';
import type { Exchange } from '../http/exchange.ts';
import type { EnabledKey } from '../ledger/ledger.ts';
import { errorForRefusal, noCredit } from './refusals.ts';

/** The fields of a key needed to read its body. */
export type BodyReading = Pick<EnabledKey, 'keyId' | 'allowlist' | 'concurrency' | 'refusal'> &
  Partial<Pick<EnabledKey, 'refusalIfFree'>>;

export async function readBody(
  exchange: Exchange,
  key: BodyReading,
  bodies: BodyLimiter,
  catalog: Catalog,
): Promise<Buffer> {
  const reading = bodies.open(key.keyId, { concurrency: key.concurrency, maxBodyBytes: exchange.maxBodyBytes });
  const refused = (bytes: number) => (bytes > LARGE_BODY_BYTES ? refusalBeforeReading(key, catalog) : undefined);
  try {
    return await exchange.readBody((bytes) => refused(bytes) ?? reading.grow(bytes));
  } finally {
    reading.close();
  }
}

/** The refusal by the key's limits that applies to every possible body. */
function refusalBeforeReading(key: BodyReading, catalog: Catalog): BodyRefusal | undefined {
  if (key.refusal === undefined) return undefined;
  const isFreePossible = catalog.callable(key.allowlist).some(mayBeFree);
  const refusal = isFreePossible ? key.refusalIfFree : key.refusal;
  if (refusal === undefined) return undefined;
  const error = refusal.reason === 'insufficient_credit' ? noCredit(refusal.keyName) : errorForRefusal(refusal, '', 0n);
  return { error, reason: refusal.reason };
}
