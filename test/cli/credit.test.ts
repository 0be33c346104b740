/** `credit remove` asks before it takes the balance below zero. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type BalanceJson, CONCURRENCY, Workplace } from '../support/cli.ts';

async function balanceOf(place: Workplace): Promise<string> {
  return (await place.json<BalanceJson>('credit', 'show')).balance_usd;
}

describe('`credit remove`', { concurrency: CONCURRENCY }, () => {
  test('below zero fails where nobody answers, and says what to do', async (t) => {
    const place = new Workplace(t);
    await place.json('credit', 'add', '5');
    for (const answer of ['', 'n\n', '\n']) {
      const { status, stdout, stderr } = await place.run(['credit', 'remove', '5.01'], answer);
      assert.equal(status, 1, stderr);
      assert.equal(stdout, '');
      assert.match(stderr, /^This takes the balance from 5\.00 to -0\.01\d* USD\. Remove it\? \(y\/N\) /);
      assert.match(stderr, /^error: nothing was removed: .*answer y or use --yes$/m);
    }
    assert.equal(await balanceOf(place), '5.00');
  });

  test('below zero is done after a yes, or with --yes', async (t) => {
    const place = new Workplace(t);
    await place.json('credit', 'add', '5');
    assert.equal((await place.run(['credit', 'remove', '6'], 'y\n')).status, 0);
    assert.equal(await balanceOf(place), '-1.00');
    assert.deepEqual((await place.run(['credit', 'remove', '1', '--yes'])).stderr, '');
    assert.equal(await balanceOf(place), '-2.00');
  });

  test('down to zero does not ask', async (t) => {
    const place = new Workplace(t);
    await place.json('credit', 'add', '5');
    assert.deepEqual((await place.run(['credit', 'remove', '5'])).stderr, '');
    assert.equal(await balanceOf(place), '0.00');
  });
});
