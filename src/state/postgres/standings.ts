/** The figures by which a gateway that joins now would decide about requests of a level. */
import { utcMonth } from '../../core/clock.ts';
import { endedSince } from '../budgets.ts';
import { bookedMonths } from '../sql.ts';
import type { Standing, Standings } from '../standings.ts';
import { NOW_US } from './activity.ts';
import type { Database } from './database.ts';

const ACCOUNT = `SELECT a.balance_nanos, a.held_nanos, n.us AS now_us, coalesce((SELECT sum(u.cost_nanos) FROM (
      SELECT month, cost_nanos FROM inf_gw.usage_months WHERE key_id = $1
      UNION ALL SELECT month, cost_nanos FROM ${bookedMonths('$1')} AS booked
    ) u WHERE u.month = to_char(to_timestamp(n.us / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM')
  ), 0)::bigint AS charged_nanos FROM inf_gw.account a, (SELECT ${NOW_US} AS us) n`;
/** Requests booked to the level: for a key its own, and the requests of keys and end users inside it. */
const BOOKED = '(key_id = $1 OR levels::jsonb ? $1)';
const WINDOW_MS = 60_000;
const AT = (name: string) => `${name}_at_ms * 1000 + ${name}_micros`;
const SINCE = '$2::bigint / 1000 - 60000';
/** Ended requests. Requests in flight count with their holds. */
const ENTRIES = `SELECT ${AT('admitted')} AS admitted_us, ${AT('settled')} AS settled_us, prompt_tokens + completion_tokens AS tokens
  FROM (${endedSince('*', 'inf_gw.journal', SINCE)}) j WHERE ${BOOKED}`;
const OPEN = `SELECT request_id, model, admitted_us, input_tokens, output_tokens, reserved_tokens, hold_nanos,
    has_slot::int::bigint AS has_slot, key_id FROM inf_gw.holds WHERE ${BOOKED} ORDER BY admitted_us`;

export class PostgresStandings implements Standings {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async of(levelId: string): Promise<Standing> {
    const { run } = this.#database;
    const [account] = await run(ACCOUNT, [levelId]);
    const nowUs = account?.now_us as bigint;
    const msOf = (us: unknown) => Number(us as bigint) / 1_000;
    const ageMs = (us: unknown) => Math.max(0, msOf(nowUs) - msOf(us));
    const entries = await run(ENTRIES, [levelId, nowUs]);
    const open = await run(OPEN, [levelId]);
    return {
      month: utcMonth(msOf(nowUs)),
      chargedNanos: account?.charged_nanos as bigint,
      balanceNanos: account?.balance_nanos as bigint,
      heldNanos: account?.held_nanos as bigint,
      entries: [
        ...entries.flatMap(({ admitted_us: admitted, settled_us: settled, tokens }) => [
          ...(admitted === null ? [] : [{ ageMs: ageMs(admitted), requests: 1, tokens: 0 }]),
          { ageMs: ageMs(settled), requests: 0, tokens: Number(tokens) },
        ]),
        ...open.map(({ admitted_us: admitted }) => ({ ageMs: ageMs(admitted), requests: 1, tokens: 0 })),
      ].filter(({ ageMs }) => ageMs < WINDOW_MS),
      open: open.map((row) => ({
        hold: {
          requestId: row.request_id as string,
          keyId: row.key_id as string,
          model: row.model as string,
          admittedAtMs: msOf(row.admitted_us),
          inputTokens: Number(row.input_tokens),
          outputTokens: Number(row.output_tokens),
          holdNanos: row.hold_nanos as bigint,
        },
        ageMs: ageMs(row.admitted_us),
        month: utcMonth(msOf(row.admitted_us)),
        reservedTokens: Number(row.reserved_tokens),
        hasSlot: row.has_slot === 1n,
      })),
      interrupted: 0,
    };
  }
}
