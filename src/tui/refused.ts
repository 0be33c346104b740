/** What the gateway has refused, among the requests of the journal: both are one list, the newest first. */
import type { Refusal, RefusalPage, RefusalQuery } from '../observe/refusals.ts';
import type { JournalPlace, RequestPage } from '../state/requests.ts';
import type { FoundPage, FoundRequest, RequestSearch } from './model.ts';

/** As many as a page of the journal may have. */
const MAX_REFUSED = 500;

/** Undefined where no gateway tells. */
export type AskRefused = (query: RefusalQuery) => Promise<RefusalPage | undefined>;

/** The page with what was refused in its time: from where it ends up to where the page before it ended. */
export async function withRefused(
  page: RequestPage,
  { id, keyId, sinceMs = 0, untilMs }: RequestSearch,
  after: JournalPlace | undefined,
  ask: AskRefused,
): Promise<FoundPage> {
  const fromMs = Math.max(page.next?.admittedAtMs ?? 0, sinceMs);
  const within = id === undefined ? { keyId, sinceMs: fromMs, untilMs: after?.admittedAtMs ?? untilMs } : { id };
  const refused = await ask({ ...within, limit: MAX_REFUSED });
  if (refused === undefined) return { ...page, refusedSinceMs: undefined };
  const { rows, has_more: hasMore, since_ms: refusedSinceMs } = refused;
  // Where many were refused, the page ends with the last of them.
  const edgeMs = hasMore ? (rows.at(-1)?.at_ms ?? fromMs) : fromMs;
  const ended = id === undefined ? page.rows.filter(({ admittedAtMs }) => admittedAtMs >= edgeMs) : page.rows;
  return {
    rows: [...ended, ...rows.map(foundRequest)].toSorted((a, b) => b.admittedAtMs - a.admittedAtMs),
    next: hasMore ? { admittedAtMs: edgeMs, row: 0n } : page.next,
    refusedSinceMs,
  };
}

/** It was never admitted: it holds nothing, and has no end. */
function foundRequest(refused: Refusal): FoundRequest {
  const { id, key_id: keyId, model, at_ms: admittedAtMs } = refused;
  return { id, keyId, key: keyId, model, requestedModel: model, admittedAtMs, holdNanos: 0n, end: undefined, refused };
}
