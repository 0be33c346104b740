/** The checks of a shared state. */
import { UserError } from '../../core/errors.ts';
import { budgetCheck, budgetQueries } from '../budgets.ts';
import {
  type AuditOptions,
  balanceCheck,
  type Check,
  check,
  creditCheck,
  holdDifferences,
  INVALID_ENTRY,
  journalChecks,
  MAX_DIFFERENCES,
  missingKeys,
  type Read,
  type Row,
} from '../checks.ts';
import { type LevelDialect, levelQueries } from '../levels.ts';
import { nameQueries } from '../names.ts';
import { type DatabaseFindings, DatabaseWalk } from './journal.ts';
import { heldCheck, logCheck, partitionsCheck } from './shared.ts';

/** The version of the tables that this auditor can read. */
const KNOWN_VERSION = 1;

const ENDED = 'EXISTS (SELECT FROM inf_gw.journal j WHERE j.request_id = h.request_id)';
const HOLDS = `SELECT request_id, hold_nanos, input_tokens, output_tokens, node_id::bigint AS node_id,
    ${ENDED}::int::bigint AS ended, EXISTS (SELECT FROM inf_gw.nodes n WHERE n.id = h.node_id)::int::bigint AS has_node
  FROM inf_gw.holds h`;
const NAMED_KEYS = `SELECT key_id FROM inf_gw.usage_days UNION SELECT key_id FROM inf_gw.holds
  UNION SELECT key_id FROM inf_gw.refusals UNION SELECT key_id FROM inf_gw.listings
  UNION SELECT split_part(key_id, '/', 1) FROM inf_gw.budgets UNION SELECT parent_id FROM inf_gw.keys WHERE parent_id IS NOT NULL
  UNION SELECT group_id FROM inf_gw.keys WHERE group_id IS NOT NULL UNION SELECT group_id FROM inf_gw.groups WHERE group_id IS NOT NULL
  UNION SELECT owner_id FROM inf_gw.users
  UNION SELECT key_id FROM inf_gw.kept_responses`;
/** The key of the table allows the same request twice, admitted at different times. */
const TWICE = 'SELECT request_id, count(*) AS rows FROM inf_gw.journal GROUP BY request_id HAVING count(*) > 1';
/** Not known to a role that may not use the sequence, nor before its first number. */
const LAST_ID = `SELECT last_value FROM pg_sequences WHERE schemaname = 'inf_gw' AND sequencename = 'journal_ids'`;

const EACH_LEVEL = 'CROSS JOIN LATERAL jsonb_array_elements_text(j.levels::jsonb) AS l (value)';

const BUDGETS = budgetQueries({
  table: (name) => `inf_gw.${name}`,
  greatest: 'greatest',
  materialized: 'MATERIALIZED',
  eachLevel: EACH_LEVEL,
  level: 'l.value COLLATE "C"',
  indexOf: 'strpos',
});

const LEVELS: LevelDialect = {
  schema: 'inf_gw.',
  day: `to_char(to_timestamp(j.admitted_at_ms / 86400000 * 86400) AT TIME ZONE 'UTC', 'YYYY-MM-DD') COLLATE "C"`,
  eachLevel: EACH_LEVEL,
  collated: (text) => `${text} COLLATE "C"`,
};

export class DatabaseAuditor {
  readonly #read: Read;
  readonly #options: AuditOptions;

  constructor(read: Read, options: AuditOptions) {
    this.#read = read;
    this.#options = options;
  }

  async run(): Promise<Check[]> {
    await this.#assertKnownVersion();
    const read = this.#read;
    const findings = await new DatabaseWalk(read, this.#options).run();
    const { rows, days, months } = journalChecks(findings);
    return [
      await partitionsCheck(read),
      { ...rows, differences: [...rows.differences, ...(await this.#ids(findings))] },
      await this.#balance(findings),
      await this.#credit(),
      days,
      months,
      await this.#answer(levelQueries(LEVELS)),
      await this.#answer(nameQueries('inf_gw.')),
      await this.#budgets(),
      await this.#holds(),
      await heldCheck(read),
      await this.#keys(),
      await logCheck(read),
    ];
  }

  async #assertKnownVersion(): Promise<void> {
    const [found] = await this.#read(`SELECT to_regclass('inf_gw.migrations')::text AS name`);
    if (typeof found?.name !== 'string') {
      throw new UserError('the database has no tables of inf-gw yet; serve, keys create or credit add makes them');
    }
    const [newest] = await this.#read('SELECT max(version)::bigint AS version FROM inf_gw.migrations');
    if (newest?.version === BigInt(KNOWN_VERSION)) return;
    throw new UserError(`the tables have version ${newest?.version}; this inf-gw audits version ${KNOWN_VERSION}`);
  }

  /** No request has two rows, and the next row gets an id that is larger than all others. */
  async #ids({ newestId }: DatabaseFindings): Promise<string[]> {
    const twice = await this.#read(`${TWICE} LIMIT ${MAX_DIFFERENCES}`);
    const [sequence] = await this.#read(LAST_ID);
    const last = sequence?.last_value;
    return [
      ...twice.map(({ request_id: id, rows }) => `request ${id} is in the journal ${rows} times`),
      ...(typeof last === 'bigint' && last < newestId
        ? [`a row has the id ${newestId}, but journal_ids is at ${last}`]
        : []),
    ];
  }

  async #balance(findings: DatabaseFindings): Promise<Check> {
    const accounts = await this.#read('SELECT balance_nanos FROM inf_gw.account');
    const [credit] = await this.#read(
      'SELECT coalesce(sum(amount_nanos), 0) AS nanos, count(*) AS rows FROM inf_gw.credit_entries',
    );
    const balances = accounts.map((account) => account.balance_nanos as bigint);
    return balanceCheck(balances, { nanos: credit?.nanos as bigint, rows: Number(credit?.rows) }, findings);
  }

  async #credit(): Promise<Check> {
    const [all] = await this.#read('SELECT count(*) AS rows FROM inf_gw.credit_entries');
    const invalid = await this.#read(`SELECT id FROM inf_gw.credit_entries WHERE ${INVALID_ENTRY} ORDER BY id`);
    return creditCheck(Number(all?.rows), invalid);
  }

  async #answer(queries: Generator<string, Check, readonly Row[]>): Promise<Check> {
    let step = queries.next();
    while (step.done !== true) step = queries.next(await this.#read(step.value));
    return step.value;
  }

  async #budgets(): Promise<Check> {
    const [all] = await this.#read(BUDGETS.count);
    return budgetCheck(Number(all?.steps), await this.#read(BUDGETS.differences));
  }

  async #holds(): Promise<Check> {
    const rows = await this.#read(HOLDS);
    const lost = rows.filter(({ has_node: hasNode }) => hasNode === 0n);
    return check('holds', rows.length, [
      ...holdDifferences(rows),
      ...lost.map(
        ({ request_id: id, node_id: node }) => `the hold of ${id} is of the gateway ${node}, which is not known`,
      ),
    ]);
  }

  async #keys(): Promise<Check> {
    const [all] = await this.#read('SELECT count(*) AS rows FROM inf_gw.keys');
    const missing = await this.#read(
      `SELECT key_id FROM (${NAMED_KEYS}) n WHERE NOT EXISTS (SELECT FROM inf_gw.keys k WHERE k.id = n.key_id)
         AND NOT EXISTS (SELECT FROM inf_gw.groups g WHERE g.id = n.key_id)
         ORDER BY key_id`,
    );
    return check('keys', Number(all?.rows), missingKeys(missing));
  }
}
