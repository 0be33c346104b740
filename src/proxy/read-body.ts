/** Reads the body of a request, unless its key may have no more in reading or would be refused whatever it says. */
import type { Catalog } from '../catalog/catalog.ts';
import { mayBeFree } from '../catalog/cost.ts';
import type { BodyRefusal } from '../http/body.ts';
import { type BodyLimiter, LARGE_BODY_BYTES } from '../http/body-limiter.ts';
import type { Exchange } from '../http/exchange.ts';
import type { EnabledKey } from '../ledger/ledger.ts';
import { errorForRefusal, noCredit } from './refusals.ts';

/** What matters of a key when its body is read. */
export type BodyReading = Pick<EnabledKey, 'keyId' | 'allowlist' | 'concurrency' | 'refusal'> &
  Partial<Pick<EnabledKey, 'refusalIfFree'>>;

/** Throws a BodyError. */
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

/** What the limits of the key refuse now, whatever the request says. */
function refusalBeforeReading(key: BodyReading, catalog: Catalog): BodyRefusal | undefined {
  if (key.refusal === undefined) return undefined;
  const isFreePossible = catalog.callable(key.allowlist).some(mayBeFree);
  const refusal = isFreePossible ? key.refusalIfFree : key.refusal;
  if (refusal === undefined) return undefined;
  const error = refusal.reason === 'insufficient_credit' ? noCredit(refusal.keyName) : errorForRefusal(refusal, '', 0n);
  return { error, reason: refusal.reason };
}
