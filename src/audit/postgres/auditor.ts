/** Audits a PostgreSQL database. */
import { UserError } from '../../core/errors.ts';
import { commonChecks, journalDays } from '../auditor.ts';
import {
  type AuditDialect,
  type AuditOptions,
  type Check,
  MAX_DIFFERENCES,
  type Queries,
  type Read,
} from '../checks.ts';
import { DatabaseWalk } from './journal.ts';
import { heldCheck, logCheck, lossCheck, lostHolds, partitionsCheck } from './shared.ts';

/** The schema version that this auditor can read. */
const KNOWN_VERSION = 3;

const DIALECT: AuditDialect = {
  schema: 'inf_gw.',
  day: `to_char(to_timestamp(j.admitted_at_ms / 86400000 * 86400) AT TIME ZONE 'UTC', 'YYYY-MM-DD') COLLATE "C"`,
  eachIn: (ids) => `CROSS JOIN LATERAL jsonb_array_elements_text(${ids}::jsonb) AS l (value)`,
  collated: (text) => `${text} COLLATE "C"`,
  indexOf: 'strpos',
  greatest: 'greatest',
  sumsAtOnce: Number.POSITIVE_INFINITY,
  tablesOfKeys: ['usage_days', 'holds', 'refusals', 'listings', 'kept_responses'],
};

/** Finds duplicates: the primary key includes the time of admission, so it permits two rows of one request. */
const TWICE = 'SELECT request_id, count(*) AS rows FROM inf_gw.journal GROUP BY request_id HAVING count(*) > 1';
/** NULL if the role may not use the sequence, or before the first value. */
const LAST_ID = `SELECT last_value FROM pg_sequences WHERE schemaname = 'inf_gw' AND sequencename = 'journal_ids'`;

/**
 * Audits the tables of a PostgreSQL database. `read` must run all queries in one repeatable-read transaction, so gateways may
 * keep running. Rejects with a UserError or with the error of `read`.
 */
export async function auditDatabase(read: Read, options: AuditOptions): Promise<Check[]> {
  const answer = async <Result>(queries: Queries<Result>): Promise<Result> => {
    let step = queries.next();
    while (step.done !== true) step = queries.next(await read(step.value));
    return step.value;
  };
  await assertKnownVersion(read);
  const walk = new DatabaseWalk(read, options);
  const findings = await walk.run(await answer(journalDays(DIALECT)));
  const { journal, money, holds, keys } = await answer(commonChecks(DIALECT, findings, await lostHolds(read)));
  return [
    await partitionsCheck(read),
    { ...journal, differences: [...journal.differences, ...(await idDifferences(read, walk.newestId))] },
    ...money,
    holds,
    await heldCheck(read),
    keys,
    await logCheck(read),
    await lossCheck(read),
  ];
}

async function assertKnownVersion(read: Read): Promise<void> {
  const [found] = await read(`SELECT to_regclass('inf_gw.migrations')::text AS name`);
  if (typeof found?.name !== 'string') {
    throw new UserError('the database has no tables of inf-gw yet; serve, keys create or credit add makes them');
  }
  const [newest] = await read('SELECT max(version)::bigint AS version FROM inf_gw.migrations');
  if (newest?.version === BigInt(KNOWN_VERSION)) return;
  throw new UserError(`the tables have version ${newest?.version}; this inf-gw audits version ${KNOWN_VERSION}`);
}

/** Each request has one row, and the sequence is not behind the largest id. */
async function idDifferences(read: Read, newestId: bigint): Promise<string[]> {
  const twice = await read(`${TWICE} LIMIT ${MAX_DIFFERENCES}`);
  const [sequence] = await read(LAST_ID);
  const last = sequence?.last_value;
  return [
    ...twice.map(({ request_id: id, rows }) => `request ${id} is in the journal ${rows} times`),
    ...(typeof last === 'bigint' && last < newestId
      ? [`a row has the id ${newestId}, but journal_ids is at ${last}`]
      : []),
  ];
}
