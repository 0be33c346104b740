/** Single requests in the operator's book, and the correction of one that was charged as held. */
import { DAY_MS, utcDay, utcMonth } from '../core/clock.ts';
import type { Nanos } from '../core/money.ts';
import { NAME_KINDS, OTHER_NAMES } from '../core/spent-by.ts';
import { correctSteps } from './budget-book.ts';
import { groupsIn } from './levels.ts';
import {
  type Dialect,
  factsBefore,
  logEdit,
  type Operation,
  rows,
  stopDecisions,
  transaction,
  type Values,
} from './operation.ts';
import { monthStart } from './periods.ts';
import {
  type Correction,
  type JournalPlace,
  mayBeCompletionId,
  type RequestEnd,
  type RequestPage,
  type RequestPageQuery,
  type RequestQuery,
  type RequestRecord,
  requestIdOf,
} from './requests.ts';
import { placeOf, type Row, requestOf } from './rows.ts';
import { hasLevel, IS_ERROR, isUser } from './sql.ts';

const LATEST_FIRST = 'ORDER BY r.admitted_at_ms DESC, r.id DESC';
/** Maximum number of journal rows that one page scans in SQLite: 20,000 rows take about 10 ms, and all other work waits. */
const MAX_WALKED = 20_000;

export class RequestBook {
  readonly #dialect: Dialect;
  readonly #ended: string;
  readonly #open: string;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
    this.#ended = requestsIn('journal', dialect);
    this.#open = requestsIn('holds', dialect);
  }

  /** Ended requests, newest admission first. */
  *list(query: RequestQuery): Operation<readonly RequestRecord[]> {
    return (yield* this.#latest({ ...query, after: undefined })).map(requestOf);
  }

  /**
   * A page of ended requests. In SQLite it scans a bounded part of the journal, so that the TUI stays responsive while it
   * searches for rare requests.
   */
  *page(query: RequestPageQuery): Operation<RequestPage> {
    const edge = this.#dialect.isShared ? undefined : yield* edgeOf(query);
    const found = yield* this.#latest(query, edge);
    const last = found.length === query.limit ? found.at(-1) : undefined;
    return { rows: found.map(requestOf), next: last === undefined ? edge : placeOf(last) };
  }

  /** The number of journal rows before a position in SQLite; undefined in PostgreSQL, where the journal is partitioned. */
  *countBefore({ row: last }: JournalPlace): Operation<number | undefined> {
    if (this.#dialect.isShared) return undefined;
    // Rows are numbered without gaps, and retention drops the oldest first.
    const [row] = yield* rows('SELECT min(id) AS first FROM inf_gw.journal', []);
    return row?.first === null ? undefined : Number(last - BigInt(row?.first as bigint));
  }

  /** The number of a key's requests in flight. */
  *countOpen(keyId: string): Operation<number> {
    const [row] = yield* rows('SELECT count(*) AS requests FROM inf_gw.holds WHERE key_id = $1', [keyId]);
    return Number(row?.requests);
  }

  /**
   * A request by its id, in flight or ended, or the latest one with that completion id. Completion
   * ids have no index, because it would cost each request a page of the log: finding one scans the
   * journal backwards.
   */
  *find(id: string): Operation<RequestRecord | undefined> {
    const found = yield* this.#byId(requestIdOf(id));
    return found ?? (mayBeCompletionId(id) ? yield* this.#byCompletionId(id) : undefined);
  }

  /**
   * Replaces the charge of a request that was charged as held: in its row, the balance, and every sum that
   * includes it.
   */
  *correct(id: string, costNanos: Nanos, wallMs: number): Operation<Correction> {
    // Before the lock is taken: scanning the journal must not block the gateways.
    const found = yield* this.find(id);
    if (found === undefined) return { kind: 'no_such_request' };
    return yield* transaction(this.#correct(found.id, costNanos, wallMs));
  }

  *#correct(id: string, costNanos: Nanos, wallMs: number): Operation<Correction> {
    yield* stopDecisions(this.#dialect);
    // A gateway may be dropping the row because of its age.
    yield* rows(`SELECT request_id FROM inf_gw.journal WHERE request_id = $1 ${this.#dialect.forUpdate}`, [id]);
    const request = yield* this.#byId(id);
    if (request === undefined) return { kind: 'no_such_request' };
    if (request.end === undefined) return { kind: 'in_flight' };
    const { source } = request.end;
    if (source !== 'held') return { kind: 'not_held', source };
    yield* charge(this.#dialect, request, request.end, costNanos - request.end.costNanos);
    yield* rows(
      'UPDATE inf_gw.journal SET cost_nanos = $1, corrected_at_ms = $2 WHERE request_id = $3 AND admitted_at_ms = $4',
      [costNanos, wallMs, id, request.admittedAtMs],
    );
    return { kind: 'done', request: (yield* this.#byId(id)) as RequestRecord };
  }

  /** Rows of the journal that a query asks for, down to `edge`. */
  *#latest(query: RequestPageQuery, edge?: JournalPlace): Operation<Row[]> {
    const found: Row[] = [];
    for (const stretch of (yield* stretchesOf(this.#dialect, query)).map((each) => cut(each, query, edge))) {
      if (found.length === query.limit) break;
      if (stretch.fromMs >= stretch.toMs) continue;
      const values: Values[number][] = [];
      const place: Place = (value) => `$${values.push(value)}`;
      const filters = [
        ...within(stretch, query.after, place),
        ...(query.errors ? [IS_ERROR] : []),
        ...(query.reason === undefined ? [] : [`r.failure_reason = ${place(query.reason)}`]),
        ...(query.keyId === undefined ? [] : [`r.key_id = ${place(query.keyId)}`]),
        ...(query.groupId === undefined ? [] : [hasLevel('r.levels', query.groupId, place)]),
        ...(query.user === undefined ? [] : [`r.by_user = ${place(query.user)}`]),
        ...(query.model === undefined ? [] : [`r.model = ${place(query.model)}`]),
        ...(edge === undefined
          ? []
          : [`(r.admitted_at_ms, r.id) >= (${place(edge.admittedAtMs)}, ${place(edge.row)})`]),
      ].join(' AND ');
      const most = place(query.limit - found.length);
      found.push(...(yield* rows(`${this.#ended} WHERE ${filters} ${LATEST_FIRST} LIMIT ${most}`, values)));
    }
    return found;
  }

  *#byId(id: string): Operation<RequestRecord | undefined> {
    return (
      (yield* one(`${this.#ended} WHERE r.request_id = $1`, id)) ??
      (yield* one(`${this.#open} WHERE r.request_id = $1`, id))
    );
  }

  /** PostgreSQL searches the months one by one, latest first: each month is a partition of the journal. */
  *#byCompletionId(id: string): Operation<RequestRecord | undefined> {
    const text = `${this.#ended} WHERE r.completion_id = $1`;
    const latest = 'ORDER BY r.id DESC LIMIT 1';
    if (!this.#dialect.isShared) return yield* one(`${text} ${latest}`, id);
    for (const { fromMs, toMs } of yield* monthsWith('true', 0)) {
      const month = 'r.admitted_at_ms >= $2 AND r.admitted_at_ms < $3';
      const found = yield* one(`${text} AND ${month} ${latest}`, id, fromMs, toMs);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** Selects requests as `r`, with the names of their keys and gateways. */
export function requestsIn(table: 'journal' | 'holds', { isShared }: Dialect): string {
  const from = `FROM inf_gw.${table} AS r LEFT JOIN inf_gw.keys AS k ON k.id = r.key_id`;
  const columns = 'r.*, coalesce(k.name, r.key_id) AS key';
  if (!isShared) return `SELECT ${columns} ${from}`;
  const time = table === 'holds' ? ', r.admitted_us / 1000 AS admitted_at_ms' : '';
  return `SELECT ${columns}, n.name AS node${time} ${from} LEFT JOIN inf_gw.nodes AS n ON n.id = r.node_id`;
}

function* one(text: string, id: string, ...values: number[]): Operation<RequestRecord | undefined> {
  // PostgreSQL text cannot contain zero bytes, so no stored id matches.
  if (id.includes('\0')) return undefined;
  const [row] = yield* rows(text, [id, ...values]);
  return row && requestOf(row);
}

/** Adds a value to a statement. Returns its parameter. */
type Place = (value: Values[number]) => string;

/** A range of the journal, by admission. */
interface Stretch {
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
}

const EVERYTHING: Stretch = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

/** The part of a range that a query needs, down to `edge`. The index is read between these bounds. */
function cut({ fromMs, toMs }: Stretch, { sinceMs, untilMs, after }: RequestPageQuery, edge?: JournalPlace): Stretch {
  return {
    fromMs: Math.max(fromMs, sinceMs ?? fromMs, edge?.admittedAtMs ?? fromMs),
    toMs: Math.min(toMs, untilMs ?? toMs, after === undefined ? toMs : after.admittedAtMs + 1),
  };
}

/**
 * The ranges of the journal with matching requests, latest first. In PostgreSQL they come from the sums, so that a list of
 * few requests does not read millions of others. In SQLite the sums are sorted by day first, so reading them would be as
 * slow as reading the journal.
 */
function* stretchesOf(
  { isShared }: Dialect,
  { keyId, sinceMs = 0, errors }: RequestPageQuery,
): Operation<readonly Stretch[]> {
  if (!isShared) return [EVERYTHING];
  if (keyId === undefined) return errors ? yield* monthsWith('errors > 0', sinceMs) : [EVERYTHING];
  const text = `SELECT DISTINCT day FROM inf_gw.usage_days WHERE key_id = $1 AND day >= $2 ${errors ? 'AND errors > 0' : ''}
    ORDER BY day DESC`;
  const days = (yield* rows(text, [keyId, utcDay(sinceMs)])).map(({ day }) => Date.parse(day as string));
  return days.map((fromMs) => ({ fromMs, toMs: fromMs + DAY_MS }));
}

function* monthsWith(condition: string, sinceMs: number): Operation<readonly Stretch[]> {
  const text = `SELECT DISTINCT month FROM inf_gw.usage_months WHERE month >= $1 AND ${condition} ORDER BY month DESC`;
  const months = (yield* rows(text, [utcMonth(sinceMs)])).map(({ month }) => Date.parse(month as string));
  return months.map((fromMs) => ({ fromMs, toMs: monthStart(fromMs, 1) }));
}

function within({ fromMs, toMs }: Stretch, after: JournalPlace | undefined, place: Place): string[] {
  return [
    `r.admitted_at_ms >= ${place(fromMs)} AND r.admitted_at_ms < ${place(toMs)}`,
    ...(after === undefined ? [] : [`(r.admitted_at_ms, r.id) < (${place(after.admittedAtMs)}, ${place(after.row)})`]),
  ];
}

/** The last row that a page may scan; undefined if fewer rows remain. */
function* edgeOf(query: RequestPageQuery): Operation<JournalPlace | undefined> {
  const values: Values[number][] = [];
  const filters = within(cut(EVERYTHING, query), query.after, (value) => `$${values.push(value)}`).join(' AND ');
  const text = `SELECT r.admitted_at_ms, r.id FROM inf_gw.journal AS r WHERE ${filters} ${LATEST_FIRST}`;
  const [row] = yield* rows(`${text} LIMIT 1 OFFSET ${MAX_WALKED - 1}`, values);
  return row && placeOf(row);
}

/** Names beyond the limit of a month are summed under one name. */
const CHARGE_NAME = `UPDATE inf_gw.usage_name_days SET cost_nanos = cost_nanos + $1
  WHERE key_id = $2 AND model = $3 AND day = $4 AND kind = $5 AND name = coalesce((SELECT k.name FROM inf_gw.usage_name_keys AS k
    WHERE k.month = $7 AND k.kind = $5 AND k.key_id = $2 AND k.name = $6), '${OTHER_NAMES}')`;

/** Adds an amount, possibly negative, to the cost of a held request wherever it was charged. */
function* charge(
  dialect: Dialect,
  { keyId, levels = [], model, admittedAtMs }: RequestRecord,
  { settledAtMs, spentBy }: RequestEnd,
  nanos: Nanos,
): Operation<void> {
  const [day, month] = [utcDay(admittedAtMs), utcMonth(admittedAtMs)];
  const before = yield* factsBefore(dialect, [keyId, ...levels]);
  const ofKey = `SET cost_nanos = cost_nanos + $1 WHERE key_id = $2 AND model = $3 AND source = 'held'`;
  yield* rows(`UPDATE inf_gw.usage_days ${ofKey} AND day = $4 AND group_ids = $5`, [
    nanos,
    keyId,
    model,
    day,
    groupsIn(levels),
  ]);
  yield* rows(`UPDATE inf_gw.usage_months ${ofKey} AND month = $4`, [nanos, keyId, model, month]);
  for (const kind of NAME_KINDS) {
    const name = spentBy?.[kind] ?? '';
    if (name !== '') yield* rows(CHARGE_NAME, [nanos, keyId, model, day, kind, name, month]);
  }
  for (const level of levels) {
    const ofLevel = 'SET cost_nanos = cost_nanos + $1 WHERE level_id = $2';
    yield* rows(`UPDATE inf_gw.level_days ${ofLevel} AND day = $3`, [nanos, level, day]);
    // Sums of an end user may still be in days instead of months.
    yield* rows(
      `UPDATE inf_gw.level_months ${ofLevel} AND month = $3 AND NOT (${isUser('level_id')}
         AND EXISTS (SELECT 1 FROM inf_gw.level_days AS d WHERE d.level_id = $2 AND d.day = $4))`,
      [nanos, level, month, day],
    );
  }
  for (const level of [keyId, ...levels]) yield* correctSteps(dialect, level, settledAtMs, nanos);
  yield* rows('UPDATE inf_gw.account SET balance_nanos = balance_nanos - $1', [nanos]);
  yield* logEdit(dialect, { keyIds: [keyId, ...levels], before, addedNanos: -nanos });
}
