/** Files deleted under a running gateway: neither a command nor a second gateway works beside it as if it were not there. */
import assert from 'node:assert/strict';
import { unlinkSync } from 'node:fs';
import { describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { CONCURRENCY, type KeyJson, type Serving, Workplace } from '../support/cli.ts';

const LIMIT = 20;

function admitted(outcomes: readonly string[]): number {
  return outcomes.filter((outcome) => outcome === '200').length;
}

function race(serving: Serving, key: string): Promise<string[]> {
  return Promise.all(Array.from({ length: 2 * LIMIT }, () => serving.chatOutcome(key)));
}

describe('while a gateway runs', { concurrency: CONCURRENCY }, () => {
  test('whose index of the log was deleted, commands are refused: it would not see what they write', async (t) => {
    const place = new Workplace(t);
    const { key } = await place.createKey('app');
    const serving = await place.serve();
    assert.equal(await serving.chatOutcome(key), '200');
    unlinkSync(`${place.statePath}-shm`);
    const says = /state\.db-shm is gone under the gateway that runs .*restart the gateway/;
    for (const words of [['keys', 'disable', 'app'], ['keys', 'list'], ['audit'], ['backup', 'copy.db'], ['doctor']]) {
      const { status, stdout, stderr } = await place.run(words);
      assert.equal(status, 1, words.join(' '));
      assert.match(stdout + stderr, says, words.join(' '));
    }
    assert.equal(await serving.chatOutcome(key), '500 internal_error');
    await serving.logged(/state\.db-shm is gone: if it was moved, move it back; otherwise restart inf-gw/);
    await serving.stop();
    const next = await place.serve();
    assert.equal(await next.chatOutcome(key), '200');
    assert.equal((await place.run(['keys', 'disable', 'app'])).status, 0);
    assert.equal(await next.chatOutcome(key), '403 api_key_disabled');
  });

  test('whose index another program has made anew, what commands write is in force, and its end loses none of it', async (t) => {
    const place = new Workplace(t);
    const { key } = await place.createKey('app');
    const serving = await place.serve();
    assert.equal(await serving.chatOutcome(key), '200');
    unlinkSync(`${place.statePath}-shm`);
    const other = new Database(place.statePath);
    other.prepare('SELECT count(*) FROM keys').get();
    assert.equal((await place.run(['keys', 'disable', 'app'])).status, 0);
    assert.equal(await serving.chatOutcome(key), '500 internal_error');
    await serving.logged(/another file has replaced \S+state\.db-shm/);
    other.close();
    await serving.stop();
    const [kept] = await place.json<KeyJson[]>('keys', 'list');
    assert.equal(kept?.state, 'disabled');
    assert.equal((await place.json<{ ok: boolean }>('audit')).ok, true);
  });

  test('whose lock was deleted, no second one starts while the first answers', async (t) => {
    const place = new Workplace(t);
    const first = await place.serve();
    unlinkSync(`${place.statePath}-lock`);
    const { status, stderr } = await place.serveInVain();
    assert.equal(status, 1);
    assert.match(
      stderr,
      new RegExp(`process ${first.pid} serves .*state\\.db, and its lock was deleted: stop that process`),
    );
    await first.stop();
    assert.equal(await (await place.serve()).stop(), 0);
  });

  test('whose lock and socket were deleted, a second one admits what is left, and the first nothing more', async (t) => {
    const place = new Workplace(t);
    const { key } = await place.createKey('app', '--rpm', String(LIMIT));
    const first = await place.serve();
    assert.equal(admitted(await race(first, key)), LIMIT);
    const other = await place.createKey('other', '--rpm', String(LIMIT));
    for (const suffix of ['-lock', '-control']) unlinkSync(place.statePath + suffix);
    const second = await place.serve();
    const outcomes = await Promise.all([race(first, other.key), race(second, other.key), race(second, key)]);
    assert.deepEqual(outcomes.map(admitted), [0, LIMIT, 0]);
    await first.logged(/another file has replaced \S+state\.db-lock/);
    await first.stop();
    assert.equal(await second.stop(), 0);
    assert.equal((await place.json<{ ok: boolean }>('audit')).ok, true);
  });
});
