/** Reads the data of all gateways that share a database. */
import type { KeyActivityRow } from '../control/protocol.ts';
import type { SnapshotQuery } from '../observe/worker-snapshot.ts';
import type { KeyActivity, Nodes } from '../state/nodes.ts';
import type { RequestRecord } from '../state/requests.ts';
import type { LiveRow, Shared } from './model.ts';

export interface SharedQuery extends Pick<SnapshotQuery, 'keyIds' | 'maxLive'> {
  /** Whether no gateway on this machine reports the activity of keys. */
  readonly isAlone: boolean;
}

/** Maximum keys, as in a gateway's snapshot. */
const MAX_BUSIEST = 20;

/** Reads only visible data, since gateways wait for the same database. */
export async function readShared(nodes: Nodes, ownNode: string, query: SharedQuery): Promise<Shared> {
  const { keyIds, maxLive, isAlone } = query;
  return {
    ownNode,
    nodes: await nodes.list(),
    open: maxLive === 0 ? [] : (await nodes.openRequests(maxLive)).map(liveRow),
    busiest: isAlone ? (await nodes.busiest(MAX_BUSIEST)).map(activityRow) : [],
    keys: isAlone && keyIds.length > 0 ? (await nodes.activityOf(keyIds)).map(activityRow) : [],
    isStale: false,
  };
}

/** A request of another gateway; the database does not have its counts yet. */
function liveRow({ id, keyId, model, admittedAtMs, node = '-', holdNanos = 0n }: RequestRecord): LiveRow {
  const unknown = { provider: '', stream: false, prompt_tokens: 0, completion_tokens: 0, cost_usd: '0.00' };
  return { id, key_id: keyId, model, admitted_at_ms: admittedAtMs, ...unknown, elsewhere: { node, holdNanos } };
}

function activityRow({ keyId, requests, tokens, open }: KeyActivity): KeyActivityRow {
  return { id: keyId, requests, tokens, open, usd_per_min: '0.00', refused: 0, history: [] };
}
