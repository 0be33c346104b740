/** What else only commands could do, on a real terminal and checked from outside. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { BalanceJson, KeyJson } from '../support/cli.ts';
import { Desk } from '../support/terminal.ts';

test('the dashboard removes credit, limits a new key to models, undoes a change, and audits the state', async (t) => {
  const desk = await Desk.open(t);
  const { place } = desk;
  await place.json('credit', 'add', '5', '--note', 'first');
  await place.createKey('web-app');
  await desk.dashboard();

  await desk.type('-');
  await desk.shows(/Remove credit/);
  await desk.type('6');
  await desk.press('Enter');
  await desk.shows(/This takes the balance from 5\.00 to -1\.00 USD\./);
  await desk.type('y');
  await desk.shows(/Removed 6\.00 USD\. The balance is -1\.00 USD\./);
  assert.equal((await place.json<BalanceJson>('credit', 'show')).balance_usd, '-1.00');
  await desk.type('h');
  await desk.shows(/-6\.00 +-1\.00 +│\n.*\+5\.00 +5\.00 +first/);
  await desk.press('Escape');
  await desk.hides(/Credit history/);

  // Delete is another key than Backspace, and Ctrl-O a list to choose from.
  await desk.type('2nXpicky');
  await desk.press('Home');
  await desk.press('DC');
  await desk.press('C-o');
  await desk.shows(/Models that the new key may call/);
  await desk.type('x ');
  await desk.press('Enter');
  await desk.shows(/› Models +mock\/echo/);
  await desk.press('Enter');
  await desk.shows(/Created key picky/);
  await desk.press('Enter');
  const shown = (name: string) => place.json<KeyJson>('keys', 'show', name);
  assert.deepEqual((await shown('picky')).allowlist, ['mock/echo']);

  await desk.type(':web');
  await desk.shows(/│ key +web-app /);
  await desk.press('Enter');
  await desk.type('dy');
  await desk.shows(/web-app is disabled\./);
  await desk.type('u');
  await desk.shows(/undone with +inf-gw keys enable web-app/);
  await desk.type('y');
  await desk.shows(/web-app is enabled\./);
  assert.equal((await shown('web-app')).state, 'enabled');
  await desk.type('@');
  await desk.shows(/web-app is disabled\. \(undone since\)/);
  await desk.press('Escape');

  await desk.type('A');
  await desk.shows(/credit entries: 2 rows, agrees/);
  await desk.press('Escape');
  await desk.hides(/credit entries/);
  await desk.type('q');
  assert.equal(await desk.left(), 0);
});
