/** The list of usage by key, model, day, month, source, user, tag or app. Pure. */
import { NANOS_PER_USD, type Nanos } from '../../core/money.ts';
import { NO_NAME } from '../../operator/messages.ts';
import type { UsageRow } from '../../state/usage.ts';
import type { ComparedUsage, Model } from '../model.ts';
import { type Listed, shownOf } from './list.ts';

export const USAGE: Listed<ComparedUsage> = {
  rows: ({ usage }) => usage.rows,
  idOf: idOfUsage,
  fields: {
    name: { read: nameOfUsage, isText: true },
    requests: { read: ({ requests }) => requests },
    errors: { read: ({ errors }) => errors },
    in: { read: ({ promptTokens }) => promptTokens },
    cached: { read: ({ cachedTokens }) => cachedTokens },
    out: { read: ({ completionTokens }) => completionTokens },
    cost: { read: ({ costNanos }) => Number(costNanos) / Number(NANOS_PER_USD) },
    before: {
      read: ({ beforeNanos }) => (beforeNanos === undefined ? undefined : Number(beforeNanos) / Number(NANOS_PER_USD)),
    },
    change: {
      read: ({ costNanos, beforeNanos }) =>
        beforeNanos === undefined ? undefined : changePercent(costNanos, beforeNanos),
    },
    id: { read: ({ keyId }) => keyId, isHidden: true, isText: true },
  },
};

/** Of these names only those of the row are defined. */
export function idOfUsage({ keyId, model, day, month, source, user, tag, app }: UsageRow): string {
  return keyId ?? model ?? day ?? month ?? source ?? user ?? tag ?? app ?? '';
}

/** By how much it costs more than the week before, in percent; undefined where it cost nothing then. */
export function changePercent(nowNanos: Nanos, beforeNanos: Nanos): number | undefined {
  return beforeNanos === 0n ? undefined : Number(((nowNanos - beforeNanos) * 100n) / beforeNanos);
}

/** What a row is about. */
export function nameOfUsage({ key, keyId, model, day, month, source, user, tag, app }: UsageRow): string {
  return key ?? keyId ?? model ?? day ?? month ?? source ?? ((user ?? tag ?? app) || NO_NAME);
}

export function shownUsage(model: Model): readonly ComparedUsage[] {
  return shownOf('usage', USAGE, model);
}
