/** The list of requests in flight, and of recently ended or refused ones. Pure. */
import { whyOf } from '../../operator/messages.ts';
import type { LiveRow, Model } from '../model.ts';
import { keyNames, requestsNow } from '../select.ts';
import { type Listed, shownOf } from './list.ts';

export const LIVE: Listed<LiveRow> = {
  rows: (model) => model.live.asked ?? requestsNow(model),
  idOf: ({ id }) => id,
  fields: {
    age: { read: (row, { nowMs }) => (nowMs - (row.ended_at_ms ?? row.admitted_at_ms)) / 1_000, isTime: true },
    key: { read: ({ key_id: id }, model) => keyNames(model)(id), isText: true },
    model: { read: ({ model }) => model, isText: true },
    node: { read: ({ elsewhere }, { shared }) => elsewhere?.node ?? shared?.ownNode, isText: true },
    user: { read: ({ user }) => user, isText: true },
    app: { read: ({ app }) => app, isText: true },
    upstream: { read: ({ upstream }) => upstream, isText: true },
    in: { read: (row) => tokens(row, row.prompt_tokens) },
    out: { read: (row) => tokens(row, row.completion_tokens) },
    cost: { read: (row) => (row.elsewhere === undefined ? Number(row.cost_usd) : undefined) },
    first: { read: ({ first_byte_ms: ms }) => ms && ms / 1_000, isTime: true },
    state: { read: ({ outcome }) => outcome ?? 'running', isText: true },
    err: { read: errorOf, isText: true },
    id: { read: ({ id }) => id, isHidden: true, isText: true },
  },
};

/** Returns a token count; undefined for a request of another gateway, which alone knows it. */
function tokens({ elsewhere }: LiveRow, number: number): number | undefined {
  return elsewhere === undefined ? number : undefined;
}

/** Returns the code and cause of a failed or refused request. */
function errorOf(row: LiveRow): string {
  const { outcome = 'ok' } = row;
  return outcome === 'ok' || outcome === 'cancelled' ? '' : `${outcome} ${whyOf(row)}`;
}

export function shownRequests(model: Model): readonly LiveRow[] {
  return shownOf('live', LIVE, model);
}
