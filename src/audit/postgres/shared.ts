/** Checks of what only a shared state has: what decisions read instead of holds, journal and windows, and partitions. */
import { formatUsd } from '../../core/money.ts';
import { type Check, check, MAX_DIFFERENCES, type Read, type Row } from '../checks.ts';

/** The month of a time in microseconds since 1970. */
const monthOf = (us: string) => `to_char(to_timestamp(${us} / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM')`;

/** The account knows the sum of all holds. */
export async function heldCheck(read: Read): Promise<Check> {
  const [figures] = await read(`SELECT (SELECT coalesce(sum(held_nanos), 0) FROM inf_gw.account) AS held,
    coalesce(sum(hold_nanos), 0) AS expected, count(*) AS rows FROM inf_gw.holds`);
  const [held, expected] = [figures?.held as bigint, figures?.expected as bigint];
  return check(
    'held',
    Number(figures?.rows),
    held === expected
      ? []
      : [`the account holds ${formatUsd(held)} USD, but the holds come to ${formatUsd(expected)} USD`],
  );
}

/** What decisions read of a key: each figure, and what it must be. */
const KEY_FIGURES: readonly (readonly [figure: string, expected: string])[] = [
  ['open_requests', 'coalesce(h.open_requests, 0)'],
  ['slots', 'coalesce(h.slots, 0)'],
  ['reserved_tokens', 'coalesce(h.reserved_tokens, 0)'],
  ['newest_open_us', 'coalesce(h.newest_us, s.newest_open_us)'],
  ['held_nanos', 'coalesce(m.held_nanos, 0)'],
  ['charged_nanos', 'coalesce(u.cost_nanos, 0)'],
];
const KEY_STATE = `FROM inf_gw.keys k LEFT JOIN inf_gw.key_state s ON s.key_id = k.id
  LEFT JOIN (SELECT key_id, count(*) AS open_requests, count(*) FILTER (WHERE has_slot) AS slots,
      sum(reserved_tokens) AS reserved_tokens, max(admitted_us) AS newest_us FROM inf_gw.holds GROUP BY key_id) h
    ON h.key_id = k.id
  LEFT JOIN (SELECT key_id, ${monthOf('admitted_us')} AS month, sum(hold_nanos) AS held_nanos FROM inf_gw.holds
      GROUP BY 1, 2) m ON m.key_id = k.id AND m.month = s.month
  LEFT JOIN (SELECT key_id, month, sum(cost_nanos) AS cost_nanos FROM inf_gw.usage_months GROUP BY 1, 2) u
    ON u.key_id = k.id AND u.month = s.month COLLATE "C"`;

/** Open requests, slots, reserved tokens, and what the key's month is charged and holds. */
export async function keyStateCheck(read: Read): Promise<Check> {
  return differing(read, 'key state', KEY_STATE, KEY_FIGURES, 'holds and journal');
}

const WINDOW_FIGURES: readonly (readonly [figure: string, expected: string])[] = [
  ['window_requests', 'coalesce(w.requests, 0)'],
  ['window_tokens', 'coalesce(w.tokens, 0)'],
  ['window_listings', 'coalesce(w.listings, 0)'],
  ['last_request_us', 'coalesce(w.request_us, s.last_request_us)'],
  ['last_tokens_us', 'coalesce(w.tokens_us, s.last_tokens_us)'],
  ['last_listing_us', 'coalesce(w.listing_us, s.last_listing_us)'],
];
/** Entries up to `expired_us` have left the windows. */
const WINDOWS = `FROM inf_gw.keys k LEFT JOIN inf_gw.key_state s ON s.key_id = k.id
  LEFT JOIN (SELECT e.key_id, sum(requests) AS requests, sum(tokens) AS tokens, sum(listings) AS listings,
      max(at_us) FILTER (WHERE requests > 0) AS request_us, max(at_us) FILTER (WHERE tokens > 0) AS tokens_us,
      max(at_us) FILTER (WHERE listings > 0) AS listing_us
    FROM inf_gw.window_entries e JOIN inf_gw.key_state x ON x.key_id = e.key_id AND e.at_us > x.expired_us
    GROUP BY e.key_id) w ON w.key_id = k.id`;

/** The windows of each key, and that no entry is of a time after the last decision. */
export async function windowsCheck(read: Read): Promise<Check> {
  const found = await differing(read, 'windows', WINDOWS, WINDOW_FIGURES, 'entries');
  const late = await read(
    `SELECT DISTINCT key_id FROM inf_gw.window_entries WHERE at_us > (SELECT max(last_us) FROM inf_gw.account)
       ORDER BY 1 LIMIT ${MAX_DIFFERENCES}`,
  );
  const differences = late.map(({ key_id: id }) => `the key ${id} has an entry of a time after the last decision`);
  return { ...found, differences: [...found.differences, ...differences] };
}

/** Compares the state of each key with what it must be. `where` says what that is counted from. */
async function differing(
  read: Read,
  name: string,
  from: string,
  figures: readonly (readonly [string, string])[],
  where: string,
): Promise<Check> {
  const stored = figures.map(([figure]) => `s.${figure}`);
  const expected = figures.map(([, expression]) => expression);
  const columns = figures.map(([figure, expression], i) => `s.${figure} AS s${i}, ${expression} AS e${i}`).join(', ');
  const differ = `s.key_id IS NULL OR ROW(${stored.join(', ')}) IS DISTINCT FROM ROW(${expected.join(', ')})`;
  const [totals] = await read(`SELECT count(*) AS rows, count(*) FILTER (WHERE ${differ}) AS differing ${from}`);
  const [rows, count] = [Number(totals?.rows), Number(totals?.differing)];
  if (count === 0) return check(name, rows, []);
  const found = await read(
    `SELECT k.id AS key_id, s.key_id AS state, ${columns} ${from} WHERE ${differ} ORDER BY k.id LIMIT ${MAX_DIFFERENCES}`,
  );
  const describe = (row: Row) =>
    row.state === null
      ? [`the key ${row.key_id} has no state`]
      : figures.flatMap(([figure], i) =>
          row[`s${i}`] === row[`e${i}`]
            ? []
            : [`the key ${row.key_id}: ${figure} is ${row[`s${i}`]}, but ${where} come to ${row[`e${i}`]}`],
        );
  return check(name, rows, found.flatMap(describe), count - found.length);
}

const OTHER = 'journal_other';
const PARTITIONS = `SELECT c.relname::text AS name, pg_get_expr(c.relpartbound, c.oid) AS bound
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'inf_gw.journal'::regclass ORDER BY 1`;
/** Months that are still to come get a partition only if none of their rows is elsewhere. */
const STRAY = `SELECT count(*) AS rows FROM inf_gw.${OTHER}
  WHERE admitted_at_ms >= extract(epoch FROM date_trunc('month', now() AT TIME ZONE 'UTC'))::bigint * 1000`;

/** Each partition of the journal has the month of its name, and one has what is of no month. */
export async function partitionsCheck(read: Read): Promise<Check> {
  const partitions = await read(PARTITIONS);
  const differences = partitions.flatMap(({ name, bound }) =>
    bound === boundOf(String(name)) ? [] : [`the partition ${name} does not have the rows of its month: ${bound}`],
  );
  if (!partitions.some(({ name }) => name === OTHER))
    return check('partitions', partitions.length, [...differences, `${OTHER} is missing`]);
  const [stray] = await read(STRAY);
  const rows = Number(stray?.rows);
  if (rows > 0) differences.push(`${OTHER} has ${rows} rows of this month or later, which cannot get a partition`);
  return check('partitions', partitions.length, differences);
}

/** As PostgreSQL prints it. */
function boundOf(name: string): string | undefined {
  if (name === OTHER) return 'DEFAULT';
  const [, year, month] = /^journal_(\d{4})_(\d{2})$/.exec(name) ?? [];
  const [from, to] = [0, 1].map((later) => Date.UTC(Number(year), Number(month) - 1 + later));
  return year === undefined ? undefined : `FOR VALUES FROM ('${from}') TO ('${to}')`;
}
