/** Merges the gateway's refusals into the requests of the journal, newest first. */
import type { Refusal, RefusalPage, RefusalQuery } from '../observe/refusals.ts';
import type { JournalPlace } from '../state/requests.ts';
import type { FoundPage, FoundRequest, RequestSearch } from './model.ts';

/** Maximum refusals per page. */
const MAX_REFUSED = 500;

/** Returns undefined without a gateway. */
export type AskRefused = (query: RefusalQuery) => Promise<RefusalPage | undefined>;

/** Adds the refusals of a page's time span: from the page's end up to the end of the previous page. */
export async function withRefused(
  page: FoundPage,
  { id, keyId, sinceMs = 0, untilMs }: RequestSearch,
  after: JournalPlace | undefined,
  ask: AskRefused,
): Promise<FoundPage> {
  const fromMs = Math.max(page.next?.admittedAtMs ?? 0, sinceMs);
  const within = id === undefined ? { keyId, sinceMs: fromMs, untilMs: after?.admittedAtMs ?? untilMs } : { id };
  const refused = await ask({ ...within, limit: MAX_REFUSED });
  if (refused === undefined) return { ...page, refusedSinceMs: undefined };
  const { rows, has_more: hasMore, since_ms: refusedSinceMs } = refused;
  // If refusals exceed the limit, the page ends with the last of them.
  const edgeMs = hasMore ? (rows.at(-1)?.at_ms ?? fromMs) : fromMs;
  const ended = id === undefined ? page.rows.filter(({ admittedAtMs }) => admittedAtMs >= edgeMs) : page.rows;
  return {
    rows: [...ended, ...rows.map(foundRequest)].toSorted((a, b) => b.admittedAtMs - a.admittedAtMs),
    ...(hasMore ? { next: { admittedAtMs: edgeMs, row: 0n } } : { next: page.next, left: page.left }),
    refusedSinceMs,
  };
}

/** A refusal as a request without a hold and an end, since it was never admitted. */
function foundRequest(refused: Refusal): FoundRequest {
  const { id, key_id: keyId, model, at_ms: admittedAtMs } = refused;
  return { id, keyId, key: keyId, model, requestedModel: model, admittedAtMs, holdNanos: 0n, end: undefined, refused };
}
