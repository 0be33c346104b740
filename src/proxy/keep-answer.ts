/** What is written down of an answer that its host keeps, so that its key can refer to it. */
import { type KeptResponse, MAX_KEPT_ITEMS } from '../core/kept-responses.ts';
import { imageTokens } from '../dialects/attachments.ts';
import type { RequestEnd } from '../observe/monitor.ts';
import type { Metered } from '../relay/meter.ts';
import type { Admitted } from './admitted.ts';

/** What the host keeps of an answer for the key; undefined if nothing. */
export function keptOf(
  { exchange, request, dispatch, routes, plan }: Admitted,
  { kept }: Metered,
  { usage, served }: Pick<RequestEnd, 'usage' | 'served'>,
  nowMs: number,
): KeptResponse | undefined {
  const { keyId } = exchange;
  const route = routes.find(({ model }) => model === dispatch?.model);
  if (kept === undefined || keyId === undefined || served === undefined || route === undefined) return undefined;
  const { hosted, model } = route;
  if (hosted.request.state?.mayKeep !== true || !hosted.request.state.isKept) return undefined;
  const reported = usage.promptTokens + usage.completionTokens;
  // What a host left out of this answer it may read again for the next.
  const isCut = request.body.fields.truncation === 'auto' || request.summarizesAbove !== undefined;
  const read = isCut ? Math.max(reported, plan.inputTokens + usage.completionTokens) : reported;
  const tokens = read + kept.images * imageTokens(undefined, false, model);
  const items = kept.items
    .slice(0, MAX_KEPT_ITEMS)
    .map(({ id, isWritten }) => ({ id, tokens: isWritten ? usage.completionTokens : tokens }));
  return { keyId, id: kept.id, tokens, items, upstream: served.upstream, model: model.id, atMs: nowMs };
}
