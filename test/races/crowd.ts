/** Crowds that race for a dollar, of which each of their requests costs a round part: keys of a group, users of an app. */
import assert from 'node:assert/strict';
import { mintKey } from '../../src/core/api-key.ts';
import type { Budget } from '../../src/core/budgets.ts';
import { NO_LEVEL_TERMS, NO_USER_LIMITS, userId } from '../../src/state/levels.ts';
import type { OpenState } from '../../src/state/state.ts';
import { completion } from '../support/answers.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { chat } from '../support/gateway.ts';
import type { Random } from '../support/random.ts';
import { rawCompletion } from '../support/raw.ts';
import type { TestKey } from '../support/state.ts';
import { AMPLE_ALLOWANCE } from './allowance.ts';
import { RaceClient } from './client.ts';

/** A model whose tokens cost a thousandth of a dollar each, and its input nothing. */
export const DEAR_MODEL = { dear: { input: 0, output: 1_000, max_output: 1_000 } };
const USD = 1_000_000_000n;
const THOUSANDTH = USD / 1_000n;
/** A race may be at midnight, so no day of the calendar. */
const A_DOLLAR_A_DAY: readonly Budget[] = [{ period: '24h', limitNanos: USD }];
const KEYS_OF_GROUP = 50;
const AT_ONCE = 400;
const CLIENTS_OF_USERS = 96;
/** A quarter of a dollar: two more than fit. */
const USER_TOKENS = 250;
const TIMES_EACH = 6;

/** What of a gateway, or of several on one state, a crowd needs. */
export interface Arena {
  readonly ports: readonly number[];
  readonly upstream: FakeUpstream;
  readonly state: OpenState;
}

/** A request by whom it is sent. */
interface Racer {
  readonly key: TestKey;
  readonly user?: string;
}

/** 50 keys share a dollar, and send 400 requests of a cent at once. Returns what deviates from a hundred that are admitted. */
export async function raceForGroup(arena: Arena, name: string): Promise<string[]> {
  const { groups } = arena.state;
  const group = await groups.create({ ...NO_LEVEL_TERMS, name, budgets: A_DOLLAR_A_DAY }, Date.now());
  assert.ok(group.kind === 'done');
  const keys: TestKey[] = [];
  for (let i = 0; i < KEYS_OF_GROUP; i++)
    keys.push(await newKey(arena.state, `${name} ${i}`, { groupId: group.group.id }));
  const racers = Array.from({ length: AT_ONCE }, (_, i) => ({ key: keys[i % KEYS_OF_GROUP] as TestKey }));
  const admitted = await sendAll(arena, racers, 10, AT_ONCE);
  const expected = Number(USD / (10n * THOUSANDTH));
  return [
    ...(admitted.length === expected ? [] : [`${admitted.length} requests were admitted instead of ${expected}`]),
    ...(await notSpent(arena.state, [group.group.id])),
  ];
}

/** So many users of one app may spend a dollar each, and race for half as much again. Returns what deviates. */
export async function raceOfUsers(arena: Arena, name: string, count: number, random: Random): Promise<string[]> {
  const userLimits = { ...NO_USER_LIMITS, budgets: A_DOLLAR_A_DAY, required: true };
  const key = await newKey(arena.state, name, { userLimits });
  const users = Array.from({ length: count }, (_, number) => `user ${number}`);
  // Those of a user come close together, in any order.
  const racers: Racer[] = [];
  for (let from = 0; from < users.length; from += CLIENTS_OF_USERS / TIMES_EACH) {
    const next = users.slice(from, from + CLIENTS_OF_USERS / TIMES_EACH);
    racers.push(...random.shuffled(next.flatMap((user) => Array.from({ length: TIMES_EACH }, () => ({ key, user })))));
  }
  const counts = new Map(users.map((user) => [user, 0]));
  for (const { user = '' } of await sendAll(arena, racers, USER_TOKENS, CLIENTS_OF_USERS)) {
    counts.set(user, (counts.get(user) ?? 0) + 1);
  }
  const expected = Number(USD / (BigInt(USER_TOKENS) * THOUSANDTH));
  const ids = users.map((user) => userId(key.id, user));
  return [
    ...[...counts]
      .filter(([, admitted]) => admitted !== expected)
      .map(([user, admitted]) => `${user}: ${admitted} requests`),
    ...(await notSpent(arena.state, ids)),
  ];
}

async function newKey(
  { keys }: OpenState,
  name: string,
  place: Partial<Parameters<typeof keys.create>[1]>,
): Promise<TestKey> {
  const secret = mintKey();
  const change = await keys.create(secret, { ...AMPLE_ALLOWANCE.limits, allowlist: null, name, ...place }, Date.now());
  assert.ok(change.kind === 'done');
  return { id: change.key.id, secret };
}

/** The levels that have not spent their dollar exactly. */
async function notSpent({ levels }: OpenState, ids: readonly string[]): Promise<string[]> {
  const budgeted = ids.map((id) => ({ id, budgets: A_DOLLAR_A_DAY }));
  const spent = await levels.spentBy(budgeted, Date.now());
  const charged = (id: string) => spent.get(id)?.[0]?.chargedNanos;
  return ids.filter((id) => charged(id) !== USD).map((id) => `${id} has spent ${charged(id)} nanodollars`);
}

/** Sends a request for each, with so many clients over all gateways. Resolves with those that were admitted. */
async function sendAll(
  { ports, upstream }: Arena,
  racers: readonly Racer[],
  tokens: number,
  clients: number,
): Promise<Racer[]> {
  const usage = { prompt_tokens: 5, completion_tokens: tokens, total_tokens: 5 + tokens };
  upstream.follow((call) => call.answer(200, completion('hi', { usage })));
  const body = chat({ model: 'fake/dear', max_tokens: tokens });
  const admitted: Racer[] = [];
  let next = 0;
  const drive = async (client: RaceClient) => {
    for (let racer = racers[next++]; racer !== undefined; racer = racers[next++]) {
      const { key, user } = racer;
      const { status, text } = await client.send(
        rawCompletion(key, body, user === undefined ? {} : { 'X-Inf-Gw-User': user }),
      );
      if (status === 200) admitted.push(racer);
      else assert.match(text, /"code":"(?:spend_limit_reached|rate_limited)"/);
    }
    client.leave();
  };
  const open = Array.from({ length: clients }, (_, i) => RaceClient.open(ports[i % ports.length] as number));
  await Promise.all((await Promise.all(open)).map(drive));
  return admitted;
}
