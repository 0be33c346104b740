/** Checks specific to PostgreSQL: the sum of all holds, the log, lost log entries, and partitions. */
import { isoTime } from '../../core/clock.ts';
import { lossOf, lossText } from '../../core/log-loss.ts';
import { formatUsd } from '../../core/money.ts';
import { counted } from '../../core/plural.ts';
import { program } from '../../core/program.ts';
import { type Check, check, MAX_DIFFERENCES, type Read, type Row } from '../checks.ts';

/** `account.held_nanos` is the sum of all holds. */
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

/** Each hold belongs to a registered gateway. */
export async function lostHolds(read: Read): Promise<string[]> {
  const lost = await read(`SELECT request_id, node_id::bigint AS node_id FROM inf_gw.holds h
    WHERE NOT EXISTS (SELECT FROM inf_gw.nodes n WHERE n.id = h.node_id)`);
  return lost.map(
    ({ request_id: id, node_id: node }) => `the hold of ${id} is of the gateway ${node}, which is not known`,
  );
}

const LOG = `SELECT a.seq AS last, (SELECT coalesce(max(l.seq), a.seq) FROM inf_gw.log l) AS newest, (SELECT count(*) FROM inf_gw.log) AS entries,
  (SELECT coalesce(max(l.seq) - min(l.seq) + 1, 0) FROM inf_gw.log l) AS numbers FROM inf_gw.account a`;
/** Unwritten decisions whose log entries are gone. A running gateway writes its decisions within moments. */
const UNWRITTEN = `SELECT p.asked_seq, n.name FROM inf_gw.positions p LEFT JOIN inf_gw.nodes n ON n.id = p.node_id
  WHERE p.asked_seq > p.written_seq AND NOT EXISTS (SELECT FROM inf_gw.log l WHERE l.seq = p.asked_seq) ORDER BY 1 LIMIT ${MAX_DIFFERENCES}`;

/** The log has no gaps, ends at the account's sequence number, and still has every entry whose decisions are unwritten. */
export async function logCheck(read: Read): Promise<Check> {
  const [{ last, newest, entries, numbers } = {} as Row] = await read(LOG);
  const lost = await read(UNWRITTEN);
  return check('log', Number(entries ?? 0), [
    ...(entries === numbers ? [] : [`the log has ${entries} entries for ${numbers} numbers`]),
    ...(last === newest ? [] : [`the last entry of the log is ${newest}, but the account is at ${last}`]),
    ...lost.map(
      ({ asked_seq: seq, name }) => `entry ${seq} of the gateway ${name} is gone, and its decisions are not written`,
    ),
  ]);
}

/** Entries lost by the database after clients got their answers. They cannot be restored, only accepted by an operator. */
export async function lossCheck(read: Read): Promise<Check> {
  const losses = (await read('SELECT * FROM inf_gw.losses ORDER BY found_us, node')).map(lossOf);
  const accept = `\`${program()} audit --accept-losses\` takes note of it`;
  const found = losses.flatMap((loss) => (loss.acceptedAtMs === null ? [`${lossText(loss)}; ${accept}`] : []));
  const notes = losses.flatMap((loss) =>
    loss.acceptedAtMs === null ? [] : [`${lossText(loss)}; an operator took note at ${isoTime(loss.acceptedAtMs)}`],
  );
  return { ...check('losses', losses.length, found), notes };
}

const OTHER = 'journal_other';
const PARTITIONS = `SELECT c.relname::text AS name, pg_get_expr(c.relpartbound, c.oid) AS bound
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'inf_gw.journal'::regclass ORDER BY 1`;
/** Rows of this or a later month in the default partition: they prevent the creation of that month's partition. */
const STRAY = `SELECT count(*) AS rows FROM inf_gw.${OTHER}
  WHERE admitted_at_ms >= extract(epoch FROM date_trunc('month', now() AT TIME ZONE 'UTC'))::bigint * 1000`;

/** Each partition has the bounds of the month in its name, and a default partition exists. */
export async function partitionsCheck(read: Read): Promise<Check> {
  const partitions = await read(PARTITIONS);
  const differences = partitions.flatMap(({ name, bound }) =>
    bound === boundOf(String(name)) ? [] : [`the partition ${name} does not have the rows of its month: ${bound}`],
  );
  if (!partitions.some(({ name }) => name === OTHER))
    return check('partitions', partitions.length, [...differences, `${OTHER} is missing`]);
  const [stray] = await read(STRAY);
  const rows = Number(stray?.rows);
  if (rows > 0)
    differences.push(`${OTHER} has ${counted(rows, 'row')} of this month or later, which cannot get a partition`);
  return check('partitions', partitions.length, differences);
}

/** The bound of a partition, spelled like `pg_get_expr`. */
function boundOf(name: string): string | undefined {
  if (name === OTHER) return 'DEFAULT';
  const [, year, month] = /^journal_(\d{4})_(\d{2})$/.exec(name) ?? [];
  const [from, to] = [0, 1].map((later) => Date.UTC(Number(year), Number(month) - 1 + later));
  return year === undefined ? undefined : `FOR VALUES FROM ('${from}') TO ('${to}')`;
}
