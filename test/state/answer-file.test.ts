/** The file of cached answers: what is found is what was written, or nothing; the oldest give way; damage costs answers only. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { type AnswerPlace, type CachedAnswer, MAX_ANSWER_BYTES } from '../../src/core/cached-answers.ts';
import { ThreadCache } from '../../src/gateway/answer-cache.ts';
import { keptErrors } from '../../src/observe/log.ts';
import { AnswerFile } from '../../src/state/sqlite/answer-file.ts';
import { until } from '../support/wait.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'inf-gw-answers-'));
  path = join(folder, 'state.db.cache');
});
afterEach(() => rmSync(folder, { recursive: true }));

const TERMS = { ttlMs: 1_000, maxBytes: 1_000_000 };
const place = (id: string, model = 'fake/echo'): AnswerPlace => ({ id, model });

function answer(text: string, fields: Partial<CachedAnswer> = {}): CachedAnswer {
  const body = Buffer.from(text);
  return { body, end: undefined, ignored: ['seed'], tokens: 15, costNanos: 20_000n, storedAtMs: 10_000, ...fields };
}

function textOf(found: CachedAnswer | undefined): string | undefined {
  return found && Buffer.from(found.body).toString();
}

test('an answer is found as it was written, in another process too, until it is too old', () => {
  const first = AnswerFile.open(path);
  first.add(place('a'), answer('one', { end: Buffer.from('end') }), TERMS);
  const second = AnswerFile.open(path);
  for (const file of [first, second]) {
    const { body, end, ...facts } = file.find(place('a'), 1_000, 10_999) ?? assert.fail('not found');
    assert.deepEqual([Buffer.from(body).toString(), Buffer.from(end ?? []).toString()], ['one', 'end']);
    assert.deepEqual(facts, { ignored: ['seed'], tokens: 15, costNanos: 20_000n, storedAtMs: 10_000 });
    assert.equal(file.find(place('a'), 1_000, 11_000), undefined);
    assert.equal(file.find(place('a'), 10, 10_010), undefined, 'a shorter life counts for what is there');
    assert.equal(file.find(place('a'), 1_000, 9_999), undefined, 'the clock was ahead');
    assert.equal(file.find(place('a', 'fake/other'), 1_000, 10_000), undefined);
    assert.equal(file.find(place('b'), 1_000, 10_000), undefined);
  }
  second.add(place('a'), answer('two', { storedAtMs: 10_500 }), TERMS);
  assert.equal(textOf(first.find(place('a'), 1_000, 10_600)), 'two');
  first.close();
  second.close();
});

test('the oldest of a model give way, by bytes, and those of others stay', () => {
  const file = AnswerFile.open(path);
  const terms = { ttlMs: 1_000_000, maxBytes: 20_000 };
  file.add(place('other', 'fake/other'), answer('kept', { storedAtMs: 0 }), terms);
  for (let i = 0; i < 500; i++) file.add(place(`${i}`), answer('x'.repeat(500), { storedAtMs: i }), terms);
  const found = Array.from({ length: 500 }, (_, i) => file.find(place(`${i}`), 1_000_000, 1_000) !== undefined);
  const first = found.indexOf(true);
  assert.ok(found.slice(first).every(Boolean), 'what is left is the youngest');
  assert.ok(500 - first >= 15 && 500 - first <= 20, `${500 - first} are left`);
  assert.equal(textOf(file.find(place('other', 'fake/other'), 1_000_000, 1_000)), 'kept');
  file.add(place('long'), answer('x'.repeat(20_000), { storedAtMs: 600 }), terms);
  assert.equal(file.find(place('long'), 1_000_000, 1_000), undefined);
  assert.ok(file.find(place('499'), 1_000_000, 1_000), 'one that does not fit takes no place');
  file.close();
  assert.ok(statSync(path).size < 300_000, `${statSync(path).size}`);
});

test('what is too old is dropped when others come', () => {
  const file = AnswerFile.open(path);
  const secret = 'a secret of long ago';
  file.add(place('old'), answer(secret.repeat(100)), TERMS);
  file.add(place('new'), answer('new', { storedAtMs: 11_000 }), TERMS);
  assert.equal(file.find(place('old'), 1_000_000, 11_000), undefined);
  file.close();
});

test('wherever the log is cut off, as by a kill, each answer is found whole or not at all', () => {
  const file = AnswerFile.open(path);
  const texts = new Map(Array.from({ length: 20 }, (_, i) => [`${i}`, `${i}-`.repeat(400 * i + 1)]));
  for (const [id, text] of texts) file.add(place(id), answer(text), TERMS);
  const log = readFileSync(`${path}-wal`);
  const base = join(folder, 'copy');
  fc.assert(
    fc.property(fc.integer({ min: 0, max: log.length }), (length) => {
      for (const end of ['', '-wal', '-shm']) rmSync(base + end, { force: true });
      copyFileSync(path, base);
      writeFileSync(`${base}-wal`, log.subarray(0, length), { mode: 0o600 });
      const copy = AnswerFile.open(base);
      try {
        for (const [id, text] of texts) {
          const found = textOf(copy.find(place(id), 1_000, 10_000));
          assert.ok(found === undefined || found === text);
        }
        copy.add(place('more'), answer('more'), TERMS);
        assert.equal(textOf(copy.find(place('more'), 1_000, 10_000)), 'more');
      } finally {
        copy.close();
      }
    }),
    { numRuns: 40 },
  );
  file.close();
});

test('an answer that was changed on the disk is never given, and a file that is damaged is made anew', () => {
  const texts = new Map(Array.from({ length: 20 }, (_, i) => [`${i}`, `answer ${i} `.repeat(50)]));
  const file = AnswerFile.open(path);
  for (const [id, text] of texts) file.add(place(id), answer(text), TERMS);
  file.close();
  const whole = readFileSync(path);
  const copy = join(folder, 'copy');
  fc.assert(
    fc.property(fc.integer({ min: 100, max: whole.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, by) => {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] as number) ^ by;
      for (const end of ['', '-wal', '-shm']) rmSync(copy + end, { force: true });
      writeFileSync(copy, changed, { mode: 0o600 });
      let damaged: AnswerFile | undefined = AnswerFile.open(copy);
      for (const [id, text] of texts) {
        try {
          damaged ??= AnswerFile.open(copy);
          const found = textOf(damaged.find(place(id), 1_000, 10_000));
          assert.ok(found === undefined || found === text, `${id} is ${found}`);
        } catch (error) {
          if (!(damaged as AnswerFile).discardIfDamaged(error)) throw error;
          assert.ok(!existsSync(copy));
          damaged = undefined;
        }
      }
      damaged?.close();
    }),
    { numRuns: 100 },
  );
});

test('a file that is not of answers is left as it is', () => {
  writeFileSync(path, 'somebody else’s notes, which are long enough for a header of a database. '.repeat(5));
  const before = readFileSync(path);
  assert.throws(() => AnswerFile.open(path));
  assert.ok(readFileSync(path).equals(before));
});

test('what is saved is summed by day, key and model', () => {
  const file = AnswerFile.open(path);
  const saving = {
    keyId: 'key_1',
    model: 'fake/echo',
    atMs: Date.UTC(2026, 10, 23, 23, 59),
    tokens: 15,
    costNanos: 20n,
  };
  for (const each of [saving, saving, { ...saving, model: 'fake/other' }, { ...saving, atMs: saving.atMs + 60_000 }]) {
    file.countSaving(each);
  }
  const row = { day: '2026-11-23', keyId: 'key_1', model: 'fake/echo', hits: 2, tokens: 30, costNanos: 40n };
  const one = { hits: 1, tokens: 15, costNanos: 20n };
  assert.deepEqual(file.savings('2026-11-23', '2026-11-23'), [row, { ...row, model: 'fake/other', ...one }]);
  assert.deepEqual(file.savings('2026-11-24', '2026-12-31'), [{ ...row, day: '2026-11-24', ...one }]);
  file.close();
});

test('a disk that is slow keeps one request waiting, and no more answers than a bound', async () => {
  const cache = new ThreadCache(path, keptErrors().log);
  const terms = { ttlMs: 3_600_000, maxBytes: 1_000_000_000, isShared: true, keyIds: undefined, fingerprint: '' };
  const find = (id: string) => cache.find(place(id), terms.ttlMs);
  const large = { ...answer(''), body: Buffer.alloc(MAX_ANSWER_BYTES), storedAtMs: Date.now() };
  cache.add(place('first'), large, terms);
  assert.ok((await find('first')) !== undefined);
  const other = new Database(path);
  other.exec('BEGIN IMMEDIATE');
  const ids = Array.from({ length: 20 }, (_, index) => `${index}`);
  for (const id of ids) cache.add(place(id), large, terms);
  assert.equal(await find('first'), undefined, 'it waits behind what cannot be written');
  const waits = new Promise((resolve) => setImmediate(resolve, 'waits'));
  const isAtOnce = (await Promise.race([find('first'), waits])) === undefined;
  other.close();
  assert.ok(isAtOnce, 'the next one does not wait');
  await until(async () => (await find('15')) !== undefined);
  assert.equal(await find('16'), undefined, 'it was not to wait for the disk');
  await cache.close();
});
