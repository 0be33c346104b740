/** The list of usage by key, model, day, month, source, user, tag or app. Pure. */
import { NANOS_PER_USD } from '../../core/money.ts';
import { NO_NAME } from '../../operator/messages.ts';
import type { UsageRow } from '../../state/usage.ts';
import type { Model } from '../model.ts';
import { type Listed, shownOf } from './list.ts';

export const USAGE: Listed<UsageRow> = {
  rows: ({ usage }) => usage.rows,
  // Of these only those that name the row are defined.
  idOf: ({ keyId, model, day, month, source, user, tag, app }) =>
    keyId ?? model ?? day ?? month ?? source ?? user ?? tag ?? app ?? '',
  fields: {
    name: { read: nameOfUsage, isText: true },
    requests: { read: ({ requests }) => requests },
    errors: { read: ({ errors }) => errors },
    in: { read: ({ promptTokens }) => promptTokens },
    cached: { read: ({ cachedTokens }) => cachedTokens },
    out: { read: ({ completionTokens }) => completionTokens },
    cost: { read: ({ costNanos }) => Number(costNanos) / Number(NANOS_PER_USD) },
    id: { read: ({ keyId }) => keyId, isHidden: true, isText: true },
  },
};

/** What a row is about. */
export function nameOfUsage({ key, keyId, model, day, month, source, user, tag, app }: UsageRow): string {
  return key ?? keyId ?? model ?? day ?? month ?? source ?? ((user ?? tag ?? app) || NO_NAME);
}

/** The rows that pass the filter, in their order. */
export function shownUsage(model: Model): readonly UsageRow[] {
  return shownOf('usage', USAGE, model);
}
