/** The gateways of a shared database, for operators. */
import { type LogLoss, lossOf } from '../../core/log-loss.ts';
import type { KeyActivity, LogSize, NodeRecord, NodeState, Nodes } from '../nodes.ts';
import { requestsIn } from '../request-book.ts';
import type { RequestRecord } from '../requests.ts';
import { type Row, requestOf } from '../rows.ts';
import { ACTIVITY_OF_KEYS, BUSIEST, NOW_US } from './activity.ts';
import type { Database } from './database.ts';
import { DIALECT } from './dialect.ts';
import { SILENCE_US } from './schema/nodes.ts';

/** With changing names, as in containers, most gateways never return. */
const REMEMBERED_US = 86_400_000_000;
const MAX_NODES = 200;

const NODES = `WITH seen AS (
    SELECT n.*, greatest(n.alive_us, n.stopped_us) AS seen_us, c.us,
      CASE WHEN n.stopped_us > 0 THEN 'stopped' WHEN n.alive_us > c.us - ${SILENCE_US} THEN 'alive' ELSE 'silent' END AS state
    FROM inf_gw.nodes n, (SELECT ${NOW_US} AS us) c
  ), open AS (
    SELECT node_id, count(*) AS requests, sum(hold_nanos)::bigint AS nanos FROM inf_gw.holds GROUP BY node_id
  )
  SELECT s.name, s.version, s.address, s.state, s.started_at_ms, s.seen_us / 1000 AS seen_at_ms, s.requests, s.tokens,
    coalesce(o.requests, 0) AS in_flight, coalesce(o.nanos, 0) AS held_nanos
  FROM seen s LEFT JOIN open o ON o.node_id = s.id
  WHERE s.seen_us > s.us - ${REMEMBERED_US} OR o.requests > 0
  ORDER BY s.state <> 'alive', s.name LIMIT ${MAX_NODES}`;

/** Sequence numbers have no gaps. */
const LOG_SIZE = `SELECT coalesce(max(seq) - min(seq) + 1, 0) AS entries, pg_total_relation_size('inf_gw.log') AS bytes FROM inf_gw.log`;
const LOSSES = 'SELECT * FROM inf_gw.losses WHERE accepted_us IS NULL ORDER BY found_us DESC, node LIMIT $1';
const ACCEPT = `UPDATE inf_gw.losses SET accepted_us = ${NOW_US} WHERE accepted_us IS NULL`;
const OPEN = requestsIn('holds', DIALECT);
const STOP = `SELECT CASE WHEN inf_gw.stop_request($1) THEN 'in flight' END AS found`;

export class PostgresNodes implements Nodes {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async list(): Promise<readonly NodeRecord[]> {
    return (await this.#database.run(NODES)).map(nodeOf);
  }

  async logSize(): Promise<LogSize> {
    const [row] = await this.#database.run(LOG_SIZE);
    return { entries: Number(row?.entries), bytes: Number(row?.bytes) };
  }

  async losses(limit: number): Promise<readonly LogLoss[]> {
    return (await this.#database.run(LOSSES, [limit])).map(lossOf);
  }

  async acceptLosses(): Promise<void> {
    await this.#database.run(ACCEPT);
  }

  async openRequests(limit: number): Promise<readonly RequestRecord[]> {
    const rows = await this.#database.run(`${OPEN} ORDER BY r.admitted_us, r.request_id LIMIT $1`, [limit]);
    return rows.map(requestOf);
  }

  async activityOf(keyIds: readonly string[]): Promise<readonly KeyActivity[]> {
    return (await this.#database.run(ACTIVITY_OF_KEYS, [keyIds])).map(activityOf);
  }

  async busiest(limit: number): Promise<readonly KeyActivity[]> {
    return (await this.#database.run(BUSIEST, [limit])).map(activityOf);
  }

  async stopRequest(id: string): Promise<boolean> {
    // PostgreSQL text cannot contain zero bytes, so no stored id matches.
    if (id.includes('\0')) return false;
    const [row] = await this.#database.run(STOP, [id]);
    return row?.found != null;
  }
}

function nodeOf(row: Row): NodeRecord {
  const state = row.state as NodeState;
  return {
    name: row.name as string,
    version: row.version as string,
    address: row.address as string,
    state,
    startedAtMs: Number(row.started_at_ms),
    seenAtMs: Number(row.seen_at_ms),
    requestsPerMin: state === 'alive' ? Number(row.requests) : 0,
    tokensPerMin: state === 'alive' ? Number(row.tokens) : 0,
    inFlight: Number(row.in_flight),
    heldNanos: row.held_nanos as bigint,
  };
}

function activityOf(row: Row): KeyActivity {
  return {
    keyId: row.key_id as string,
    requests: Number(row.requests),
    tokens: Number(row.tokens),
    open: Number(row.open),
  };
}
