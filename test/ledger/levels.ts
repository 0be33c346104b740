/** Groups of keys and end users: each limit at each level, all or nothing, and what is booked where. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY_MS } from '../../src/core/clock.ts';
import type { Admission, AdmissionRequest, Refusal } from '../../src/ledger/ledger.ts';
import type { LevelTerms, UserLimits } from '../../src/state/keys.ts';
import { type GroupRecord, type LevelName, type NewGroup, NO_USER_LIMITS } from '../../src/state/levels.ts';
import { type BenchKey, LedgerBench, type OpenStore, USD } from './bench.ts';

/** The processes of a dead gateway are settled after this. */
const DOWN_MS = 15_000;
const DAY = 'day';

async function open(t: { after(work: () => Promise<void>): void }, openStore: OpenStore): Promise<LedgerBench> {
  const bench = await LedgerBench.of(t, openStore);
  await bench.addCredit(100n * USD);
  return bench;
}

async function newGroup(bench: LedgerBench, group: NewGroup): Promise<GroupRecord> {
  const change = await bench.store.operator.groups.create(group, bench.clock.wallMs());
  assert.ok(change.kind === 'done', change.kind);
  return change.group;
}

const budget = (limitNanos: bigint, period = DAY) => ({ budgets: [{ period, limitNanos }] });
const ofUsers = (limits: Partial<UserLimits>): { userLimits: UserLimits } => ({
  userLimits: { ...NO_USER_LIMITS, ...limits },
});

const spend = async (bench: LedgerBench, key: BenchKey, costNanos: bigint, more: Partial<AdmissionRequest> = {}) =>
  bench.settle(await bench.admit(key, { holdNanos: costNanos, ...more }), { costNanos });

/** Where a limit can be: what it makes there, a key under it, and how a refusal names it. */
interface Place {
  readonly name: string;
  readonly level: LevelName;
  make(bench: LedgerBench, terms: Partial<LevelTerms>): Promise<BenchKey>;
}

const PLACES: readonly Place[] = [
  {
    name: 'of the group of a key',
    level: { kind: 'group', name: 'inner' },
    make: async (bench, terms) => bench.newKey({ groupId: (await newGroup(bench, { name: 'inner', ...terms })).id }),
  },
  {
    name: 'of a group around that',
    level: { kind: 'group', name: 'outer' },
    make: async (bench, terms) => {
      const { id } = await newGroup(bench, { name: 'outer', ...terms });
      return bench.newKey({ groupId: (await newGroup(bench, { name: 'inner', groupId: id })).id });
    },
  },
  {
    name: 'of the end users of a key',
    level: { kind: 'user', name: 'app', of: 'key', own: [] },
    make: (bench, terms) => bench.newKey({ name: 'app', ...ofUsers(terms) }),
  },
  {
    name: 'of the end users of a group',
    level: { kind: 'user', name: 'inner', of: 'group', own: [] },
    make: async (bench, terms) =>
      bench.newKey({ groupId: (await newGroup(bench, { name: 'inner', ...ofUsers(terms) })).id }),
  },
  {
    name: 'of the key that has made a key',
    level: { kind: 'key', name: 'parent' },
    make: async (bench, terms) => bench.newKey({ parentId: (await bench.newKey({ name: 'parent', ...terms })).id }),
  },
];

const SPENT = [
  ['in a month', { spendLimitNanos: 100n }, undefined],
  ['on a day', budget(100n), DAY],
  ['in 24 hours', budget(100n, '24h'), '24h'],
  ['ever', budget(100n, 'total'), 'total'],
] as const;

const FOR_ALICE = { user: 'alice' };

export function testLevels(openStore: OpenStore): void {
  for (const { name, level, make } of PLACES) {
    describe(`a limit ${name}`, () => {
      const refused = async (
        bench: LedgerBench,
        key: BenchKey,
        refusal: Refusal,
        more: Partial<AdmissionRequest> = {},
      ) => assert.deepEqual(await bench.refuse(key, { ...FOR_ALICE, ...more }), { ...refusal, level });

      test('of requests per minute', async (t) => {
        const bench = await open(t, openStore);
        const key = await make(bench, { rpm: 2 });
        await bench.settle(await bench.admit(key, FOR_ALICE));
        await bench.settle(await bench.admit(key, FOR_ALICE));
        await refused(bench, key, { reason: 'requests_per_minute', limit: 2, retryAfterS: 60 });
        const { figures } = await bench.decide(key, FOR_ALICE);
        assert.deepEqual([figures.limitRequests, figures.remainingRequests], [2, 0]);
        await bench.store.advance(60_000);
        await bench.admit(key, FOR_ALICE);
      });

      test('of tokens per minute, also for one request that is larger', async (t) => {
        const bench = await open(t, openStore);
        const key = await make(bench, { tpm: 100 });
        await refused(bench, key, { reason: 'larger_than_token_limit', limit: 100 }, { reservedTokens: 101 });
        const id = await bench.admit(key, { ...FOR_ALICE, reservedTokens: 90 });
        await refused(bench, key, { reason: 'tokens_per_minute', limit: 100, retryAfterS: 60 }, { reservedTokens: 11 });
        const usage = { promptTokens: 50, cachedTokens: 0, completionTokens: 10 };
        const figures = await bench.settle(id, { usage });
        assert.deepEqual([figures.limitTokens, figures.remainingTokens], [100, 40]);
        await bench.admit(key, { ...FOR_ALICE, reservedTokens: 40 });
      });

      test('of requests in flight', async (t) => {
        const bench = await open(t, openStore);
        const key = await make(bench, { concurrency: 1 });
        const id = await bench.admit(key, FOR_ALICE);
        await refused(bench, key, { reason: 'concurrency', limit: 1, retryAfterS: 1 });
        await bench.settle(id);
        await bench.admit(key, FOR_ALICE);
      });

      for (const [claim, terms, period] of SPENT) {
        test(`of what is spent ${claim}: charges and holds, after a restart and a crash`, async (t) => {
          const bench = await open(t, openStore);
          const key = await make(bench, terms);
          await spend(bench, key, 40n, FOR_ALICE);
          await bench.store.restart();
          await bench.admit(key, { ...FOR_ALICE, holdNanos: 60n });
          await refused(bench, key, { reason: 'money_spoken_for', retryAfterS: 1 }, { holdNanos: 1n });
          await bench.store.crash(DOWN_MS);
          const refusal = await bench.refuse(key, FOR_ALICE);
          assert.ok(refusal.reason === 'spend_limit_reached', refusal.reason);
          assert.deepEqual([refusal.level, refusal.limitNanos, refusal.budget?.period], [level, 100n, period]);
        });
      }

      test('leaves a stream what it has left, and then ends it', async (t) => {
        const bench = await open(t, openStore);
        const key = await make(bench, budget(100n));
        await spend(bench, key, 10n, FOR_ALICE);
        const id = await bench.admit(key, { ...FOR_ALICE, holdNanos: 40n });
        await bench.admit(key, { ...FOR_ALICE, holdNanos: 20n });
        assert.deepEqual(await bench.grow(id, 900n), { granted: true, holdNanos: 70n, leftNanos: 0n });
        const grant = await bench.grow(id, 901n);
        assert.ok(!grant.granted && grant.refusal.reason === 'spend_limit_reached');
        assert.deepEqual(grant.refusal.level, level);
      });
    });
  }

  describe('a group', () => {
    test('is shared by its keys to the nano, in one batch as well', async (t) => {
      const bench = await open(t, openStore);
      const { id } = await newGroup(bench, { name: 'dev', ...budget(100n) });
      const keys = [await bench.newKey({ groupId: id }), await bench.newKey({ groupId: id })];
      const commands = Array.from({ length: 20 }, (_, i) => {
        return { kind: 'admit', request: bench.request(keys[i % 2] as BenchKey, { holdNanos: 10n }) } as const;
      });
      const answers = (await bench.process(commands)) as readonly Admission[];
      const admitted = commands.filter((_, i) => answers[i]?.admitted);
      assert.equal(admitted.length, 10);
      for (const { request } of admitted) await bench.settle(request.requestId, { costNanos: 10n });
      for (const key of keys) assert.equal((await bench.refuse(key)).reason, 'spend_limit_reached');
    });

    test('of 50 keys with 1 USD admits of 400 at once exactly what it may spend', async (t) => {
      const bench = await open(t, openStore);
      const { id } = await newGroup(bench, { name: 'dev', ...budget(USD) });
      const keys = await Promise.all(Array.from({ length: 50 }, () => bench.newKey({ groupId: id })));
      const requests = Array.from({ length: 400 }, (_, i) => {
        return bench.request(keys[i % 50] as BenchKey, { holdNanos: USD / 100n });
      });
      const admitted: string[] = [];
      for (let from = 0; from < requests.length; from += 100) {
        const commands = requests.slice(from, from + 100).map((request) => ({ kind: 'admit', request }) as const);
        const answers = (await bench.process(commands)) as readonly Admission[];
        for (const [i, answer] of answers.entries()) {
          if (answer.admitted) admitted.push(requests[from + i]?.requestId as string);
        }
      }
      assert.equal(admitted.length, 100);
      const settlements = admitted.map((requestId) => bench.settlement(requestId, { costNanos: USD / 100n }));
      await bench.process(settlements.map((settlement) => ({ kind: 'settle', settlement }) as const));
      const { levels } = bench.store.operator;
      const spent = await levels.spentBy([{ id, ...budget(USD) }], bench.clock.wallMs());
      assert.deepEqual(
        spent.get(id)?.map(({ chargedNanos }) => chargedNanos),
        [USD],
      );
      for (const key of keys.slice(0, 3)) assert.equal((await bench.refuse(key)).reason, 'spend_limit_reached');
    });

    test('takes nothing of what it refuses, at any level', async (t) => {
      const bench = await open(t, openStore);
      const { id } = await newGroup(bench, { name: 'dev', rpm: 1 });
      const key = await bench.newKey({ groupId: id, ...ofUsers({ rpm: 5 }) });
      const free = await bench.newKey({ rpm: 3 });
      await bench.admit(key, FOR_ALICE);
      const before = await bench.store.dump();
      for (let i = 0; i < 9; i++) await bench.refuse(key, FOR_ALICE);
      assert.deepEqual(await bench.store.dump(), before);
      await bench.store.operator.groups.setLimits(id, { rpm: null });
      for (let i = 0; i < 4; i++) await bench.admit(key, FOR_ALICE);
      assert.equal((await bench.refuse(key, FOR_ALICE)).reason, 'requests_per_minute');
      await bench.admit(free);
    });

    test('that is disabled refuses its keys, and so does one around it; listings, too', async (t) => {
      const bench = await open(t, openStore);
      const outer = await newGroup(bench, { name: 'outer' });
      const inner = await newGroup(bench, { name: 'inner', groupId: outer.id });
      const key = await bench.newKey({ groupId: inner.id });
      for (const { id, name } of [inner, outer]) {
        await bench.admit(key);
        await bench.store.operator.groups.setState(id, 'disabled');
        const level = { kind: 'group', name };
        assert.deepEqual(await bench.refuse(key), { reason: 'key_disabled', level });
        assert.partialDeepStrictEqual(await bench.identify(key), { kind: 'disabled', level });
        assert.partialDeepStrictEqual(await bench.list(key), { kind: 'disabled', level });
        await bench.store.operator.groups.setState(id, 'enabled');
      }
    });

    test('allows what is on its allowlist, on that of its key, and on those around it', async (t) => {
      const bench = await open(t, openStore);
      const outer = await newGroup(bench, { name: 'outer', allowlist: ['a/1', 'a/2', 'a/3'] });
      const inner = await newGroup(bench, { name: 'inner', groupId: outer.id, allowlist: ['a/2', 'a/3', 'a/4'] });
      const key = await bench.newKey({ groupId: inner.id, allowlist: ['a/1', 'a/3'] });
      await bench.admit(key, { model: 'a/3' });
      const levelOf = async (model: string) => {
        const refusal = await bench.refuse(key, { model });
        return refusal.reason === 'model_not_allowed' && (refusal.level?.name ?? 'its own');
      };
      assert.deepEqual(
        [await levelOf('a/2'), await levelOf('a/1'), await levelOf('a/5')],
        ['its own', 'inner', 'its own'],
      );
      const identity = await bench.identify(key);
      assert.deepEqual(identity.kind === 'enabled' && identity.allowlist, ['a/3']);
      const admission = await bench.decide(key, { model: 'a/3', fallbacks: ['a/1', 'a/3'] });
      assert.deepEqual(admission.admitted && admission.fallbacks, ['a/3']);
    });

    test('keeps what a key has spent in it that leaves, and a request stays with the group of its admission', async (t) => {
      const bench = await open(t, openStore);
      const { groups } = bench.store.operator;
      const [first, second] = [
        await newGroup(bench, { name: 'first', ...budget(100n) }),
        await newGroup(bench, { name: 'second', ...budget(100n) }),
      ];
      // Keys move with the group that they are in.
      const moving = await newGroup(bench, { name: 'moving', groupId: first.id });
      const key = await bench.newKey({ groupId: moving.id });
      const stays = await bench.newKey({ groupId: first.id });
      await spend(bench, key, 60n);
      const open1 = await bench.admit(key, { holdNanos: 40n });
      assert.equal((await groups.place(moving.id, second.id)).kind, 'done');
      await spend(bench, key, 100n);
      assert.deepEqual((await bench.refuse(stays)).reason, 'money_spoken_for');
      await bench.settle(open1, { costNanos: 30n });
      await spend(bench, stays, 10n);
      assert.partialDeepStrictEqual(await bench.refuse(stays), { level: { name: 'first' } });
      assert.partialDeepStrictEqual(await bench.refuse(key), { level: { name: 'second' } });
    });

    test('is in four at most, and never in itself', async (t) => {
      const bench = await open(t, openStore);
      const { groups } = bench.store.operator;
      let groupId: string | null = null;
      const made: GroupRecord[] = [];
      for (let i = 0; i < 4; i++) {
        const group: GroupRecord = await newGroup(bench, { name: `g${i}`, groupId });
        made.push(group);
        groupId = group.id;
      }
      assert.equal((await groups.create({ name: 'g4', groupId }, bench.clock.wallMs())).kind, 'too_deep');
      assert.equal((await groups.place(made[0]?.id ?? '', made[3]?.id ?? '')).kind, 'in_itself');
      const alone = await newGroup(bench, { name: 'alone' });
      assert.equal((await groups.place(made[0]?.id ?? '', alone.id)).kind, 'too_deep');
    });

    test('the headers show of levels that have nothing left the innermost, also of limits that were lowered', async (t) => {
      const bench = await open(t, openStore);
      const { id } = await newGroup(bench, { name: 'dev', rpm: 9, tpm: 900 });
      const key = await bench.newKey({ groupId: id, rpm: 3, tpm: 300 });
      for (let i = 0; i < 3; i++) await bench.admit(key, { reservedTokens: 100 });
      await bench.store.operator.groups.setLimits(id, { rpm: 1, tpm: 100 });
      const { figures } = await bench.decide(key);
      assert.deepEqual([figures.limitRequests, figures.remainingRequests], [3, 0]);
      assert.deepEqual([figures.limitTokens, figures.remainingTokens], [300, 0]);
    });

    test('the wait, the headers and the message are of all levels together', async (t) => {
      const bench = await open(t, openStore);
      const { id } = await newGroup(bench, { name: 'dev', rpm: 4, ...budget(100n) });
      const key = await bench.newKey({ groupId: id, rpm: 2 });
      const other = await bench.newKey({ groupId: id, rpm: 9 });
      await bench.admit(key);
      await bench.store.advance(10_000);
      await bench.admit(other);
      const last = await bench.decide(other);
      assert.deepEqual([last.figures.limitRequests, last.figures.remainingRequests], [4, 1]);
      await bench.store.advance(50_000);
      await bench.admit(key);
      await bench.store.advance(1_000);
      await bench.admit(key);
      // Of the key 59 s from now, of the group 9 s.
      assert.deepEqual(await bench.refuse(key), { reason: 'requests_per_minute', limit: 2, retryAfterS: 59 });
    });
  });

  describe('an end user', () => {
    test('has limits of their own, and takes nothing from others', async (t) => {
      const bench = await open(t, openStore);
      const key = await bench.newKey(ofUsers(budget(100n)));
      for (const user of [
        'alice',
        'bob',
        'Alice',
        'a\u0301lice',
        'álice',
        '\u202ealice',
        'a/b',
        'a\\0b',
        'a\0b',
        "' OR 1=1",
      ]) {
        await spend(bench, key, 100n, { user });
        assert.equal((await bench.refuse(key, { user })).reason, 'spend_limit_reached', user);
      }
      await bench.store.restart();
      assert.equal((await bench.refuse(key, FOR_ALICE)).reason, 'spend_limit_reached');
      await spend(bench, key, 5_000n);
    });

    test('of very many passes no limit of their own, however they race', async (t) => {
      const bench = await open(t, openStore);
      const key = await bench.newKey({ rpm: 100_000, concurrency: 100_000, ...ofUsers(budget(USD)) });
      const users = Array.from({ length: 40 }, (_, i) => `user ${i}`);
      const spent = new Map<string, bigint>();
      for (let round = 0; round < 3; round++) {
        const sent = [...users, ...users].map((user) => bench.request(key, { user, holdNanos: USD / 4n }));
        const answers = (await bench.process(
          sent.map((request) => ({ kind: 'admit', request })),
        )) as readonly Admission[];
        const admitted = sent.filter((_, i) => answers[i]?.admitted);
        for (const { user = '' } of admitted) spent.set(user, (spent.get(user) ?? 0n) + USD / 4n);
        const ends = admitted.map(({ requestId }) => bench.settlement(requestId, { costNanos: USD / 4n }));
        await bench.process(ends.map((settlement) => ({ kind: 'settle', settlement })));
      }
      assert.deepEqual(
        users.map((user) => spent.get(user)),
        users.map(() => USD),
      );
    });

    test('may be required', async (t) => {
      const bench = await open(t, openStore);
      const { id } = await newGroup(bench, { name: 'dev', ...ofUsers({ required: true }) });
      const key = await bench.newKey({ groupId: id });
      const level = { kind: 'group', name: 'dev' };
      assert.deepEqual(await bench.refuse(key), { reason: 'user_required', level });
      const identity = await bench.identify(key);
      assert.equal(identity.kind === 'enabled' && identity.requiresUser, true);
      await bench.admit(key, FOR_ALICE);
    });

    test('may have other limits than all, and may be blocked', async (t) => {
      const bench = await open(t, openStore);
      const { groups } = bench.store.operator;
      const key = await bench.newKey({ name: 'app', ...ofUsers({ rpm: 1, ...budget(100n) }) });
      const vip = { ownerId: key.id, name: 'vip', state: 'enabled', ...NO_USER_LIMITS } as const;
      // Once it is known that nothing is set for anybody.
      await spend(bench, key, 100n, { user: 'vip' });
      await groups.setUser({ ...vip, rpm: 3, ...budget(300n) });
      for (let i = 0; i < 2; i++) await spend(bench, key, 100n, { user: 'vip' });
      assert.partialDeepStrictEqual(await bench.refuse(key, { user: 'vip' }), { limitNanos: 300n });
      await spend(bench, key, 100n, FOR_ALICE);
      assert.partialDeepStrictEqual(await bench.refuse(key, FOR_ALICE), { limitNanos: 100n });
      await groups.setUser({ ...vip, state: 'disabled' });
      const level = { kind: 'user', name: 'app', of: 'key', own: [] };
      assert.deepEqual(await bench.refuse(key, { user: 'vip' }), { reason: 'key_disabled', level });
      await bench.store.restart();
      assert.deepEqual(await bench.refuse(key, { user: 'vip' }), { reason: 'key_disabled', level });
      // One without limits for all.
      const plain = await bench.newKey({ name: 'plain' });
      await groups.setUser({ ...vip, ownerId: plain.id, state: 'disabled' });
      assert.equal((await bench.refuse(plain, { user: 'vip' })).reason, 'key_disabled');
      await bench.admit(plain, FOR_ALICE);
    });

    test('of a group is the same one for all keys in it', async (t) => {
      const bench = await open(t, openStore);
      const { id } = await newGroup(bench, { name: 'dev', ...ofUsers(budget(100n)) });
      const keys = [await bench.newKey({ groupId: id }), await bench.newKey({ groupId: id })] as const;
      await spend(bench, keys[0], 60n, FOR_ALICE);
      await spend(bench, keys[1], 40n, FOR_ALICE);
      for (const key of keys) assert.equal((await bench.refuse(key, FOR_ALICE)).reason, 'spend_limit_reached');
      await spend(bench, keys[0], 100n, { user: 'bob' });
    });

    test('who leaves the key of one group for that of another begins there with nothing spent, and finds here what was', async (t) => {
      const bench = await open(t, openStore);
      const tier = async (name: string, limitNanos: bigint) => {
        const { id } = await newGroup(bench, { name, ...ofUsers(budget(limitNanos)) });
        return bench.newKey({ groupId: id });
      };
      const [free, paid] = [await tier('free', 100n), await tier('paid', 300n)];
      await spend(bench, free, 100n, FOR_ALICE);
      const left = await bench.admit(paid, { ...FOR_ALICE, holdNanos: 200n });
      const refusal = { reason: 'spend_limit_reached', level: { kind: 'user', name: 'free' } };
      assert.partialDeepStrictEqual(await bench.refuse(free, FOR_ALICE), refusal);
      await spend(bench, paid, 99n, FOR_ALICE);
      await bench.settle(left, { costNanos: 200n });
      await spend(bench, paid, 1n, FOR_ALICE);
      assert.partialDeepStrictEqual(await bench.refuse(paid, FOR_ALICE), { ...refusal, level: { name: 'paid' } });
    });

    test('gets new limits at once, and counts what was booked before', async (t) => {
      const bench = await open(t, openStore);
      const { groups } = bench.store.operator;
      const limits = { ...NO_USER_LIMITS, rpm: 100 };
      const key = await bench.newKey({ userLimits: limits });
      await spend(bench, key, 60n, FOR_ALICE);
      const next = { ...NO_USER_LIMITS, ...budget(60n) };
      await groups.setUserLimits(key.id, limits, next, bench.clock.wallMs());
      assert.equal((await bench.refuse(key, FOR_ALICE)).reason, 'spend_limit_reached');
      await groups.setUserLimits(key.id, next, null, bench.clock.wallMs());
      await spend(bench, key, 60n, FOR_ALICE);
    });
  });

  for (const journalRetentionMs of [undefined, 10 * DAY_MS]) {
    test(`what end users were booked is dropped when nothing counts it: requests are kept for ${journalRetentionMs}`, async (t) => {
      const bench = await LedgerBench.of(t, openStore, { journalRetentionMs });
      await bench.addCredit(100n * USD);
      const { groups } = bench.store.operator;
      const { id: groupId } = await newGroup(bench, { name: 'app', ...ofUsers(budget(100n, '24h')) });
      const key = await bench.newKey({ groupId, ...ofUsers(budget(100n)) });
      const kept = { ...NO_USER_LIMITS, ...budget(100n, 'total'), ownerId: key.id, name: 'kim' };
      await groups.setUser({ ...kept, state: 'enabled' }, bench.clock.wallMs());
      const drop = async () => {
        while (await bench.store.engine.dropOldRows());
        await bench.store.assertBooks();
        const users = await groups.userNames(key.id, '', 10);
        return [users, await groups.userNames(groupId, '', 10), await bench.store.count('budget_steps')];
      };
      for (const user of ['alice', 'bob', 'kim']) await spend(bench, key, 60n, { user });
      assert.deepEqual(await drop(), [['alice', 'bob', 'kim'], ['alice', 'bob', 'kim'], 3]);
      await bench.store.advance(70 * DAY_MS);
      // Nothing is old as long as nothing is new.
      assert.deepEqual(await drop(), [['alice', 'bob', 'kim'], ['alice', 'bob', 'kim'], 3]);
      await spend(bench, key, 60n, { user: 'bob' });
      assert.deepEqual(await drop(), [['bob', 'kim'], ['bob'], 1]);
      await spend(bench, key, 40n, { user: 'bob' });
      assert.equal((await bench.refuse(key, { user: 'bob' })).reason, 'spend_limit_reached');
      await spend(bench, key, 40n, { user: 'kim' });
      assert.equal((await bench.refuse(key, { user: 'kim' })).reason, 'spend_limit_reached');
      // Two days of the group; one of each user of the key, and one of each of the group.
      assert.equal(await bench.store.count('level_days'), 2 + 2 + 2);
      await groups.setUser({ ...kept, budgets: [], state: 'disabled' }, bench.clock.wallMs());
      await bench.store.advance(70 * DAY_MS);
      await spend(bench, key, 1n);
      assert.deepEqual(await drop(), [['kim'], [], 0]);
      // Of the group alone.
      assert.deepEqual([await bench.store.count('level_days'), await bench.store.count('level_months')], [3, 3]);
      assert.equal(await bench.store.count('sealed_levels'), journalRetentionMs === undefined ? 0 : 2);
    });
  }

  test('a key is refused as unknown once the key that has made it is deleted or its time is over', async (t) => {
    const bench = await open(t, openStore);
    const { keys } = bench.store.operator;
    const parent = await bench.newKey();
    const child = await bench.newKey({ parentId: parent.id });
    await bench.admit(child);
    await keys.setLimits(parent.id, { expiresAtMs: bench.clock.wallMs() });
    assert.equal((await bench.refuse(child)).reason, 'unknown_key');
    await keys.setLimits(parent.id, { expiresAtMs: null });
    await bench.admit(child);
    await keys.setState(parent.id, 'deleted');
    assert.equal((await bench.refuse(child)).reason, 'unknown_key');
  });
}
