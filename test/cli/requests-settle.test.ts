/**
 * `requests settle` corrects the charge of a request that a killed gateway left open, everywhere,
 * and no other.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, describe, type TestContext, test } from 'node:test';
import { testAtLength } from '../support/at-length.ts';
import {
  type BalanceJson,
  CONCURRENCY,
  type KeyJson,
  linesOf,
  type NewKeyJson,
  type Serving,
  Workplace,
} from '../support/cli.ts';
import type { RequestJson } from '../support/request-json.ts';

const say = (content: string) => [{ role: 'user', content }];
/** Seven input tokens and up to a hundred output tokens, at 0.001 and 0.002 USD. */
const OPEN = { model: 'mock/paid', stream: true, max_tokens: 100, messages: say('/stall 1') };
const HELD = '0.207000';
const PAID = { model: 'mock/paid', max_tokens: 1 };

/** Sends a request that stays open, and returns its id. */
async function openRequest(serving: Serving, key: string): Promise<string> {
  const response = await serving.chat(key, OPEN);
  await response.body?.getReader().read();
  return response.headers.get('x-request-id') ?? '';
}

/**
 * The state file of a gateway with ten USD of credit that was killed with a request open, then
 * restarted. Created once: each test has a copy.
 */
const left = new Workplace({ after });
const first = await left.serve();
const [app] = await documents<[NewKeyJson]>(left, 'keys create app', 'credit add 10');
const id = await openRequest(first, app.key);
first.signal('SIGKILL');
await first.ended;
assert.equal(await (await left.serveHere()).stop(), 0);
const bytes = left.read('state.db');

/** A workplace with a copy of it. */
function killed(test: TestContext): Workplace {
  const place = new Workplace(test);
  writeFileSync(place.statePath, bytes, { mode: 0o600 });
  return place;
}

const settle = (place: Workplace, id: string, cost: string) =>
  place.json<RequestJson>('requests', 'settle', id, '--cost', cost);

/** Runs commands in one process, which must all succeed, and returns their documents. */
async function documents<Documents extends unknown[]>(place: Workplace, ...commands: string[]): Promise<Documents> {
  const answers = await place.runAll(commands.map((words) => [...words.split(' '), '--json']));
  for (const [index, { status, stderr }] of answers.entries()) assert.equal(status, 0, `${commands[index]}: ${stderr}`);
  return answers.map(({ stdout }) => JSON.parse(stdout) as unknown) as Documents;
}

async function assertConsistent(place: Workplace): Promise<void> {
  const { status, stderr } = await place.run(['audit']);
  assert.equal(status, 0, stderr);
}

describe('`requests settle`', { concurrency: CONCURRENCY }, () => {
  test('corrects the balance, the key’s month, and usage by day and by source, and the audit passes', async (t) => {
    const place = killed(t);
    await place.serveHere();
    const [held, settled, shown, balance, key, byDay, bySource] = await documents<
      [RequestJson, RequestJson, RequestJson, BalanceJson, KeyJson, unknown, unknown]
    >(
      place,
      `requests show ${id}`,
      `requests settle ${id} --cost 0.0123`,
      `requests show ${id}`,
      'credit show',
      `keys show ${app.id}`,
      'usage --by day',
      'usage --by source',
    );
    assert.deepEqual(
      [held.outcome, held.source, held.cost_usd, held.held_usd, held.corrected_at],
      ['interrupted', 'held', HELD, HELD, null],
    );
    assert.match(settled.corrected_at ?? '', /^\d{4}-.*Z$/);
    assert.deepEqual(settled, { ...held, cost_usd: '0.012300', corrected_at: settled.corrected_at });
    assert.deepEqual(shown, settled);
    assert.equal(balance.balance_usd, '9.987700');
    assert.deepEqual(key.month, { requests: 1, tokens: 107, cost_usd: '0.012300' });
    const figures = {
      requests: 1,
      errors: 1,
      prompt_tokens: 7,
      cached_tokens: 0,
      cache_write_tokens: 0,
      completion_tokens: 100,
      total_tokens: 107,
      cost_usd: '0.012300',
    };
    assert.deepEqual(byDay, [{ day: held.admitted_at.slice(0, 10), ...figures }]);
    assert.deepEqual(bySource, [{ source: 'held', ...figures }]);
    const csv = await place.run(['usage', '--by', 'source', '--csv']);
    assert.deepEqual(linesOf(csv.stdout), [
      'source,requests,errors,prompt_tokens,cached_tokens,cache_write_tokens,completion_tokens,total_tokens,cost_usd',
      'held,1,1,7,0,0,100,107,0.012300',
    ]);
    await assertConsistent(place);
  });

  test('usage by source shows what was reported, counted and held, and adds up to the total', async (t) => {
    const place = killed(t);
    const serving = await place.serveHere();
    assert.equal(await serving.chatOutcome(app.key, PAID), '200');
    assert.equal(await serving.chatOutcome(app.key, { ...PAID, messages: say('/no-usage') }), '200');
    type SourceRow = { source: string; requests: number; cost_usd: string };
    const [rows, [whole]] = await documents<[SourceRow[], SourceRow[]]>(place, 'usage --by source', 'usage');
    assert.deepEqual(
      rows.map(({ source, requests }) => `${source} ${requests}`),
      ['held 1', 'counted 1', 'reported 1'],
    );
    const sum = rows.reduce((total, { cost_usd }) => total + Number(cost_usd), 0);
    assert.equal(sum.toFixed(9), Number(whole?.cost_usd).toFixed(9));
    const table = await place.run(['usage', '--by', 'source']);
    assert.match(table.stdout, /^SOURCE +REQUESTS .*\nheld +1 +1 +7 +100 +107 +0\.207000\n/);
  });

  test('takes effect in a running gateway at once: spend limit and credit go by the corrected charge', async (t) => {
    const place = killed(t);
    const serving = await place.serveHere();
    await place.json('limits', 'set', 'app', '--spend-limit', '0.2');
    assert.equal(await serving.chatOutcome(app.key, PAID), '402 spend_limit_reached');
    await settle(place, id, '0.01');
    assert.equal(await serving.chatOutcome(app.key, PAID), '200');
    await settle(place, id, '0.2');
    assert.equal(await serving.chatOutcome(app.key, PAID), '402 spend_limit_reached');
    await place.json('limits', 'set', 'app', '--spend-limit', 'none');
    assert.equal(await serving.chatOutcome(app.key, PAID), '200');
    await settle(place, id, '11');
    assert.equal(await serving.chatOutcome(app.key, PAID), '402 insufficient_credit');
    assert.match((await place.json<BalanceJson>('credit', 'show')).balance_usd, /^-1\.0/);
    await settle(place, id, '0');
    assert.equal(await serving.chatOutcome(app.key, PAID), '200');
    assert.equal(await serving.stop(), 0);
    await assertConsistent(place);
  });

  testAtLength('can be repeated, and the last correction counts, also after a restart', async (t) => {
    const place = killed(t);
    const serving = await place.serve();
    const steps = [
      ['1', '9.00'],
      ['1', '9.00'],
      ['0', '10.00'],
      ['0.000000001', '9.999999999'],
    ] as const;
    const commands = steps.flatMap(([cost]) => [`requests settle ${id} --cost ${cost}`, 'credit show']);
    const balances = (await documents<BalanceJson[]>(place, ...commands)).filter((_, index) => index % 2 === 1);
    assert.deepEqual(
      balances.map(({ balance_usd }) => balance_usd),
      steps.map(([, balance]) => balance),
    );
    serving.signal('SIGKILL');
    await serving.ended;
    const again = await place.serveHere();
    assert.equal((await place.json<BalanceJson>('credit', 'show')).balance_usd, '9.999999999');
    const shown = await place.run(['requests', 'show', id]);
    assert.match(shown.stdout, /cost +0\.000000001 USD, corrected at \d{4}-/);
    assert.equal(await again.stop(), 0);
    await assertConsistent(place);
  });

  test('rejects requests that were reported or counted, are in flight, or do not exist: status 1, nothing changed', async (t) => {
    const place = killed(t);
    const serving = await place.serveHere();
    const [reported, counted] = await Promise.all(
      ['hello', '/no-usage'].map(async (content) => {
        const response = await serving.chat(app.key, { ...PAID, messages: say(content) });
        const { id } = (await response.json()) as { id: string };
        return { id: response.headers.get('x-request-id') ?? '', completion: id };
      }),
    );
    const open = await openRequest(serving, app.key);
    const refusals: readonly (readonly [id: string | undefined, says: RegExp])[] = [
      [reported?.id, /charged as reported; only one that was charged as held can be corrected/],
      [reported?.completion, /charged as reported/],
      [counted?.id, /charged as counted/],
      [open, /is in flight; it is charged when it ends/],
      ['req_none', /no such request: "req_none"/],
      ["' OR 1=1 --", /no such request:/],
      ['', /no such request: ""/],
    ];
    const questions = ['credit show', 'requests', 'usage --by source'];
    const before = await documents(place, ...questions);
    const answers = await place.runAll(refusals.map(([id]) => ['requests', 'settle', id ?? '', '--cost', '0.5']));
    for (const [index, [id, says]] of refusals.entries()) {
      const { status, stdout, stderr } = answers[index] ?? {};
      assert.deepEqual([status, stdout], [1, ''], `${id}`);
      assert.equal(linesOf(stderr ?? '').length, 1, `${stderr}`);
      assert.match(stderr ?? '', says);
    }
    assert.deepEqual(await documents(place, ...questions), before);
  });

  test('an invalid or missing amount ends with status 2 and changes nothing', async (t) => {
    const place = killed(t);
    const wrong = ['-1', 'free', '', '1e3', '0x1', '1,5', '1.0000000001', '1000000001', 'NaN', ' 1', '+1'];
    const words = [...wrong.map((cost) => ['settle', id, '--cost', cost]), ['settle', id], ['settle', '--cost', '1']];
    const answers = await place.runAll(words.map((own) => ['requests', ...own]));
    for (const [index, { status, stdout }] of answers.entries()) {
      assert.deepEqual([status, stdout], [2, ''], `${words[index]?.join(' ')}`);
    }
    assert.equal((await place.json<RequestJson>('requests', 'show', id)).cost_usd, HELD);
  });
});
