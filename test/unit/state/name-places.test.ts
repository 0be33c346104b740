/** What is in memory of the places of names says what is stored. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_NAMES } from '../../../src/core/spent-by.ts';
import { openEmptyDatabase } from '../../../src/state/sqlite/database.ts';
import { NamePlaces } from '../../../src/state/sqlite/name-places.ts';

const MONTH = '2026-11';
const KEYS = 30;

test('of many full keys each has the places that it was given, and no others', (t) => {
  const database = openEmptyDatabase();
  t.after(() => database.close());
  const places = new NamePlaces(database);
  const has = (key: number, name: number) => places.has(MONTH, 'user', `key_${key}`, `user ${name} of ${key}`);
  const given = new Set<string>();
  for (let key = 0; key < KEYS; key++) {
    for (let name = 0; has(key, name); name++) given.add(`key_${key} user ${name} of ${key}`);
  }
  const stored = database.prepare("SELECT key_id || ' ' || name FROM usage_name_keys").pluck().all();
  assert.deepEqual(new Set(stored), given);
  assert.ok(given.size <= MAX_NAMES, `${given.size}`);
  for (let key = 0; key < KEYS; key++) {
    for (let name = 0; name <= MAX_NAMES / 2; name++)
      assert.equal(has(key, name), given.has(`key_${key} user ${name} of ${key}`));
  }
});

test('the names of a full key are looked up no more', (t) => {
  const database = openEmptyDatabase();
  t.after(() => database.close());
  const places = new NamePlaces(database);
  let name = 0;
  while (places.has(MONTH, 'user', 'key_1', `user ${name}`)) name++;
  assert.equal(places.has(MONTH, 'user', 'key_1', 'somebody'), false);
  // Nobody does that: by it a look into the table would be seen.
  database.exec(`INSERT INTO usage_name_keys VALUES ('${MONTH}', 'user', 'key_1', 'somebody')`);
  assert.equal(places.has(MONTH, 'user', 'key_1', 'user 0'), true);
  assert.equal(places.has(MONTH, 'user', 'key_1', 'somebody'), false);
});
