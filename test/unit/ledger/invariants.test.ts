/** The ledger's assertions: one that fails rolls the batch back and says what it saw. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { hashKey, mintKey } from '../../../src/core/api-key.ts';
import { InvariantError } from '../../../src/core/invariant.ts';
import type { Settlement } from '../../../src/core/settlement.ts';
import { prepareLedger } from '../../../src/ledger/client.ts';
import type { AdmissionRequest, Growth } from '../../../src/ledger/ledger.ts';
import { Activity, type Lease } from '../../../src/ledger/local/activity.ts';
import { OpenLeases } from '../../../src/ledger/local/open-leases.ts';
import type { Command } from '../../../src/ledger/protocol.ts';
import { bookOf } from '../../../src/state/sqlite/book.ts';
import { openDatabase } from '../../../src/state/sqlite/database.ts';
import { type Bench, type BenchKey, openBench, USD } from './bench.ts';

/** Checks that an error is a failed assertion with that message. */
const seen = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof InvariantError, `${error}`);
  assert.match(error.message, message);
  return true;
};

const usage = (changes: Partial<Settlement['usage']>): Partial<Settlement> => ({
  usage: { promptTokens: 6, cachedTokens: 0, completionTokens: 4, ...changes },
});

const ADMISSIONS: readonly (readonly [changes: Partial<AdmissionRequest>, message: RegExp])[] = [
  [{ requestId: '' }, /without an id/],
  [{ holdNanos: -1n }, /holdNanos is -1, which is negative/],
  [{ reservedTokens: -1 }, /reservedTokens is -1,/],
  [{ reservedTokens: Number.NaN }, /reservedTokens is NaN,/],
  [{ inputTokens: 0.5 }, /inputTokens is 0.5,/],
  [{ inputTokens: -1 }, /inputTokens is -1,/],
  [{ outputTokens: 2 ** 53 }, /outputTokens is 9007199254740992,/],
  [{ outputTokens: Number.POSITIVE_INFINITY }, /outputTokens is Infinity,/],
  [{ requestId: 'req_open' }, /req_open is admitted, but it is already open/],
];

const SETTLEMENTS: readonly (readonly [changes: Partial<Settlement>, message: RegExp])[] = [
  [{ costNanos: -1n }, /req_open: costNanos is -1, which is negative/],
  [usage({ promptTokens: -6 }), /promptTokens is -6,/],
  [usage({ cachedTokens: -1 }), /cachedTokens is -1,/],
  [usage({ cachedTokens: 7 }), /7 cached and 0 written of 6 input tokens/],
  [usage({ completionTokens: 1.5 }), /completionTokens is 1.5,/],
  [usage({ completionTokens: 2 ** 53 }), /completionTokens is 9007199254740992,/],
  [{ served: { model: 'mock/echo', upstream: 'mock', attempts: 0 } }, /served in 0 attempts/],
  [{ requestId: 'req_unknown' }, /req_unknown is not open: it was settled twice or never admitted/],
];

const GROWTHS: readonly (readonly [changes: Partial<Growth>, message: RegExp])[] = [
  [{ holdNanos: -1n }, /req_open: holdNanos is -1, which is negative/],
  [{ holdNanos: 69n }, /the hold of request req_open would shrink by 1 nanos/],
  [{ outputTokens: 0.5 }, /outputTokens is 0.5,/],
  [{ requestId: 'req_unknown' }, /req_unknown is not open/],
];

/** A bench with one open request, `req_open`. */
function withOpenRequest(t: TestContext): { bench: Bench; key: BenchKey } {
  const bench = openBench(t);
  bench.addCredit(USD);
  const key = bench.newKey();
  bench.admit(key, { requestId: 'req_open', holdNanos: 70n, reservedTokens: 50 });
  return { bench, key };
}

const CASES: readonly { what: string; command: (bench: Bench, key: BenchKey) => Command; message: RegExp }[] = [
  ...ADMISSIONS.map(([changes, message]) => ({
    what: `an admission: ${message.source}`,
    command: (bench: Bench, key: BenchKey): Command => ({ kind: 'admit', request: bench.request(key, changes) }),
    message,
  })),
  ...SETTLEMENTS.map(([changes, message]) => ({
    what: `a settlement: ${message.source}`,
    command: (bench: Bench): Command => ({ kind: 'settle', settlement: bench.settlement('req_open', changes) }),
    message,
  })),
  ...GROWTHS.map(([changes, message]) => ({
    what: `a growth: ${message.source}`,
    command: (): Command => {
      return { kind: 'grow', growth: { requestId: 'req_open', outputTokens: 30, holdNanos: 80n, ...changes } };
    },
    message,
  })),
  {
    what: 'the slot of a request that is not open',
    command: () => ({ kind: 'free_slot', requestId: 'req_unknown' }),
    message: /req_unknown is not open/,
  },
];

describe('an impossible command fails its batch and changes nothing', () => {
  for (const { what, command, message } of CASES) {
    test(what, (t) => {
      const { bench, key } = withOpenRequest(t);
      const other = bench.admit(key, { holdNanos: 30n });
      const [file, { figures }] = [bench.dump(), bench.identify(key)];
      const settle: Command = { kind: 'settle', settlement: bench.settlement(other, { costNanos: 20n }) };
      const admit: Command = { kind: 'admit', request: bench.request(key, { holdNanos: 10n }) };
      assert.throws(() => bench.engine.process([settle, command(bench, key), admit]), seen(message));
      assert.deepEqual(bench.dump(), file);
      assert.deepEqual(bench.identify(key).figures, figures);
      bench.engine.process([settle, admit]);
      bench.settle('req_open', { costNanos: 5n });
      assert.deepEqual(bench.operator.account.balance(), { balanceNanos: USD - 25n, heldNanos: 10n });
    });
  }

  test('two settlements of one request in a batch', (t) => {
    const { bench } = withOpenRequest(t);
    const file = bench.dump();
    const settle: Command = { kind: 'settle', settlement: bench.settlement('req_open', { costNanos: 20n }) };
    assert.throws(() => bench.engine.process([settle, settle]), seen(/settled twice/));
    assert.deepEqual(bench.dump(), file);
  });
});

/** Charges one nano too little for every journal row, as a bug in writing the charges might. */
const MISCHARGE = `CREATE TEMP TRIGGER mischarge AFTER INSERT ON journal
  BEGIN UPDATE account SET balance_nanos = balance_nanos + 1; END`;

describe('totals that do not agree fail the batch, and nothing is written', () => {
  test('a balance in the file that is not what the batch charged', (t) => {
    const { bench } = withOpenRequest(t);
    const file = bench.dump();
    bench.database.exec(MISCHARGE);
    assert.throws(
      () => bench.settle('req_open', { costNanos: 20n }),
      seen(/the balance is 999999981 nanos in the file and 999999980 in memory/),
    );
    assert.deepEqual(bench.dump(), file);
    bench.database.exec('DROP TRIGGER mischarge');
    bench.settle('req_open', { costNanos: 20n });
    assert.equal(bench.operator.account.balance().balanceNanos, USD - 20n);
  });

  test('a balance after recovery that is not what recovery charged', (t) => {
    const { bench } = withOpenRequest(t);
    const file = bench.dump();
    bench.database.exec(MISCHARGE);
    assert.throws(
      () => bench.engine.recover(),
      seen(/recovery charged 70 nanos, but the balance went from 1000000000 to 999999931/),
    );
    assert.deepEqual(bench.dump(), file);
  });

  test('holds that do not add up to their sum', () => {
    const [leases, lease] = [new OpenLeases(), newLease('req_1', 70n)];
    leases.add({ lease, activities: [new Activity()], chain: undefined });
    leases.add({ lease: newLease('req_2', 5n), activities: [new Activity()], chain: undefined });
    (lease.hold as { holdNanos: bigint }).holdNanos = 71n;
    // The leases are added up only once there were as many commands as leases.
    leases.checkSum(1);
    assert.throws(() => leases.checkSum(1), seen(/2 open leases hold 76 nanos, but their sum is kept as 75/));
  });
});

function newLease(requestId: string, holdNanos = 0n, reservedTokens = 10): Lease {
  const hold = { requestId, keyId: 'key', model: 'm', admittedAtMs: 0, inputTokens: 1, outputTokens: 1, holdNanos };
  return { hold, reservedTokens, month: '2026-11', admittedMonotonicMs: 0, hasSlot: true };
}

describe('a lease', () => {
  const lease = newLease('req_1');
  const CASES: readonly (readonly [what: string, act: (activity: Activity) => void, message: RegExp])[] = [
    ['is opened once', (activity) => activity.open(newLease('req_1')), /req_1 opens a second lease/],
    ['is ended only if it is open', (activity) => activity.end(newLease('req_2')), /req_2 ends a lease that is not/],
    ['is ended only as itself', (activity) => activity.end(newLease('req_1')), /req_1 ends a lease that is not open/],
    [
      'is ended once',
      (activity) => {
        activity.end(lease);
        activity.end(lease);
      },
      /req_1 ends a lease that is not open/,
    ],
    [
      'releases all of its tokens',
      (activity) => {
        const odd = newLease('req_2', 0n, 30);
        activity.open(odd);
        activity.end(lease);
        (odd as { reservedTokens: number }).reservedTokens = 20;
        activity.end(odd);
      },
      /0 open leases reserve 10 tokens after that of req_2 has ended/,
    ],
    [
      'releases no tokens of others',
      (activity) => {
        const odd = newLease('req_2', 0n, 30);
        activity.open(odd);
        (odd as { reservedTokens: number }).reservedTokens = 41;
        activity.end(odd);
      },
      /1 open leases reserve -1 tokens after that of req_2 has ended/,
    ],
  ];
  for (const [what, act, message] of CASES) {
    test(what, () => {
      const activity = new Activity();
      activity.open(lease);
      assert.throws(() => act(activity), seen(message));
    });
  }
});

for (const place of ['thread', 'here'] as const) {
  test(`an impossible command ends the ledger with a message, and the file keeps the right balance: ${place}`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'inf-gw-invariants-'));
    t.after(() => rmSync(directory, { recursive: true }));
    const path = join(directory, 'state.db');
    const { database } = openDatabase(path);
    t.after(() => database.close());
    const secret = mintKey();
    const none = { rpm: null, tpm: null, concurrency: null, spendLimitNanos: null, allowlist: null };
    bookOf(database).keys.create(secret, { ...none, name: 'app' }, Date.now());
    bookOf(database).account.enter(USD, 'test', Date.now());
    const death = Promise.withResolvers<Error>();
    const limits = { rpm: 600, tpm: 2_000_000, concurrency: 60, modelsRpm: 6_000, journalRetentionMs: undefined };
    const { client } = await prepareLedger(
      { state: { kind: 'file', path }, durability: 'full', creditEnforced: true, ...limits },
      {
        onStorageFault: assert.fail,
        onStorageRecovered: assert.fail,
        onStops: () => assert.fail(),
        onDeaths: () => assert.fail(),
        onOrphans: () => assert.fail(),
        onDeath: death.resolve,
      },
      { place, isAhead: false },
    ).open();
    const tokens = { reservedTokens: 10, inputTokens: 10, outputTokens: 20 };
    const request = { requestId: 'req_1', keyHash: hashKey(secret), model: 'mock/echo', holdNanos: 70n, ...tokens };
    assert.ok((await client.admit(request)).admitted);
    const end = { outcome: 'ok', source: 'reported', completionId: undefined, firstByteMs: undefined } as const;
    const settlement = { requestId: 'req_1', ...end, ...usage({}), costNanos: -50n } as Settlement;
    await assert.rejects(client.settle(settlement), { name: 'LedgerUnavailable' });
    const { name, message } = await death.promise;
    assert.deepEqual([name, message], ['InvariantError', 'request req_1: costNanos is -50, which is negative']);
    assert.deepEqual(bookOf(database).account.balance(), { balanceNanos: USD, heldNanos: 70n });
  });
}
