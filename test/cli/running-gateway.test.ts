/** A change takes effect in a running gateway before the command returns. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type BalanceJson, CONCURRENCY, type NewKeyJson, type Serving, Workplace } from '../support/cli.ts';

/** The change, and the outcome of the very next request. */
type Step = readonly [edit: string, outcome: string, fields?: Record<string, unknown>];

async function obeys(place: Workplace, serving: Serving, key: string, steps: readonly Step[]): Promise<void> {
  for (const [edit, outcome, fields] of steps) {
    await place.json(...edit.split(' '));
    assert.equal(await serving.chatOutcome(key, fields), outcome, `after ${edit}`);
  }
}

describe('a running gateway', { concurrency: CONCURRENCY }, () => {
  test('a key works once created, and is refused once disabled or deleted', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    const { key } = await place.createKey('app');
    assert.equal(await serving.chatOutcome(key), '200');
    await obeys(place, serving, key, [
      ['keys disable app', '403 api_key_disabled'],
      ['keys enable app', '200'],
      ['keys disable app', '403 api_key_disabled'],
      ['keys delete app --yes', '401 invalid_api_key'],
    ]);
    const listing = await fetch(`${serving.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    assert.equal(listing.status, 401);
  });

  test('new limits apply to the next request, and removed ones no longer do', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    const { key } = await place.createKey('app');
    assert.equal(await serving.chatOutcome(key), '200');
    await obeys(place, serving, key, [
      ['limits set app --rpm 1', '429 rate_limited'],
      ['limits set app --rpm 2', '200'],
      ['limits set app --rpm default', '200'],
      ['limits set app --tpm 1', '429 rate_limited'],
      ['limits set app --tpm default', '200'],
      ['limits set app --spend-limit 0', '402 spend_limit_reached'],
      ['limits set app --spend-limit none', '200'],
    ]);

    const open = await serving.chat(key, { stream: true, messages: [{ role: 'user', content: '/stall 1' }] });
    const reader = open.body?.getReader();
    await reader?.read();
    await obeys(place, serving, key, [
      ['limits set app --concurrency 1', '429 rate_limited'],
      ['limits set app --concurrency default', '200'],
    ]);
    await reader?.cancel();
  });

  test('the allowlist applies to the next request and to the list of models', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    const { key } = await place.createKey('app');
    const listed = async () => {
      const response = await fetch(`${serving.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
      return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
    };
    assert.deepEqual(await listed(), ['mock/echo', 'mock/paid']);
    await obeys(place, serving, key, [['allowlist set app mock/paid', '403 model_not_allowed']]);
    assert.deepEqual(await listed(), ['mock/paid']);
    await obeys(place, serving, key, [
      ['allowlist add app mock/echo', '200'],
      ['allowlist remove app mock/echo', '403 model_not_allowed'],
      ['allowlist remove app mock/paid', '403 model_not_allowed'],
    ]);
    assert.deepEqual(await listed(), []);
    await obeys(place, serving, key, [['allowlist clear app', '200']]);
  });

  test('added credit pays for the next request, removed credit does not, and the balance shows each charge', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    const { key } = await place.createKey('app');
    const paid = { model: 'mock/paid', max_tokens: 10 };
    assert.equal(await serving.chatOutcome(key, paid), '402 insufficient_credit');
    await obeys(place, serving, key, [['credit add 1', '200', paid]]);

    const [balance, row] = await Promise.all([
      place.json<BalanceJson>('credit', 'show'),
      place.json<NewKeyJson>('keys', 'show', 'app'),
    ]);
    assert.deepEqual(row.month.requests, 1);
    const cost = Number(row.month.cost_usd);
    assert.ok(cost > 0);
    assert.equal(Number(balance.balance_usd).toFixed(9), (1 - cost).toFixed(9));
    assert.equal(balance.held_usd, '0.00');
    await obeys(place, serving, key, [
      [`credit remove ${balance.balance_usd}`, '402 insufficient_credit', paid],
      ['credit add 0.5', '200', paid],
    ]);
  });

  test('the hold of a running request is visible to commands', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    const { key } = await place.createKey('app');
    await place.json('credit', 'add', '5');
    const messages = [{ role: 'user', content: '/stall 1' }];
    const open = await serving.chat(key, { model: 'mock/paid', stream: true, max_tokens: 1000, messages });
    const reader = open.body?.getReader();
    await reader?.read();
    const { balance_usd, held_usd, available_usd } = await place.json<BalanceJson>('credit', 'show');
    assert.equal(balance_usd, '5.00');
    assert.ok(Number(held_usd) > 2, '1000 tokens at 2000 USD a million are 2 USD, and the input comes on top');
    assert.equal((Number(available_usd) + Number(held_usd)).toFixed(9), Number(balance_usd).toFixed(9));
    await reader?.cancel();
  });
});
