/** The list of usage by key, model, day, month, source, user, tag or app. Pure. */
import { NANOS_PER_USD, type Nanos } from '../../core/money.ts';
import { dateTime } from '../../operator/format.ts';
import { NO_NAME } from '../../operator/messages.ts';
import { LOCAL } from '../../operator/moments.ts';
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
      read: ({ costNanos, beforeNanos }) => {
        if (beforeNanos === undefined) return undefined;
        // Infinity for a new spender: `change>100` finds these, too.
        return changePercent(costNanos, beforeNanos) ?? (costNanos > 0n ? Number.POSITIVE_INFINITY : undefined);
      },
    },
    id: { read: ({ keyId }) => keyId, isHidden: true, isText: true },
  },
};

/** Returns the id of a row, whose other id fields are undefined. */
export function idOfUsage({ keyId, model, groupId, hour, day, month, source, user, tag, app }: UsageRow): string {
  return keyId ?? model ?? groupId ?? hour ?? day ?? month ?? source ?? user ?? tag ?? app ?? '';
}

/** Returns the change of cost since the week before, in percent; undefined if that week cost 0. */
export function changePercent(nowNanos: Nanos, beforeNanos: Nanos): number | undefined {
  return beforeNanos === 0n ? undefined : Number(((nowNanos - beforeNanos) * 100n) / beforeNanos);
}

/** Returns the row's key, model, hour or other name. */
export function nameOfUsage(row: UsageRow): string {
  const { key, keyId, model, group, groupId, hour, day, month, source, user, tag, app } = row;
  if (groupId !== undefined) return group === undefined ? groupId : `@${group}`;
  if (hour !== undefined) return hourText(Date.parse(hour));
  return key ?? keyId ?? model ?? day ?? month ?? source ?? ((user ?? tag ?? app) || NO_NAME);
}

/** Formats an hour as `11-24 16:00` in the viewer's zone. */
function hourText(wallMs: number): string {
  return dateTime(wallMs + LOCAL(wallMs)).slice(5, 16);
}

export function shownUsage(model: Model): readonly ComparedUsage[] {
  return shownOf('usage', USAGE, model);
}
