/** Admission as a pure function: each refusal, their order, and the wait that each names. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Limits } from '../../../src/core/limits.ts';
import type { AdmissionRequest, Refusal } from '../../../src/ledger/ledger.ts';
import { Activity } from '../../../src/ledger/local/activity.ts';
import { refusalOf as refusalAt } from '../../../src/ledger/local/admission.ts';
import type { KeyRecord } from '../../../src/state/keys.ts';
import type { LevelName } from '../../../src/state/levels.ts';
import { ALONE } from '../../support/state.ts';
import { NOON, USD } from './bench.ts';

/** Of a key, or of a group or an end user in its place. */
interface Facts {
  key: KeyRecord;
  limits: Limits;
  activity: Activity;
  chargedNanos: bigint;
  balanceNanos: bigint;
  heldNanos: bigint;
  creditEnforced: boolean;
}

const levelOf = ({ key, limits, activity, chargedNanos }: Facts, name: LevelName, requiresUser = false) => {
  const { id, state, expiresAtMs, allowlist, spendLimitNanos } = key;
  const terms = { state, expiresAtMs, allowlist, spendLimitNanos, requiresUser, limits };
  return {
    level: { id: name.kind === 'key' ? id : name.name, name, ...terms, chargedNanos, budgets: undefined },
    activity,
  };
};

/** `around`: levels in the place of the group that the key is in, and of the end user. */
function refusalOf(request: AdmissionRequest, facts: Facts, around: readonly (readonly [LevelName, Facts])[] = []) {
  const { key, balanceNanos, heldNanos, creditEnforced } = facts;
  const levels = [
    ...around.filter(([{ kind }]) => kind === 'user'),
    [{ kind: 'key', name: key.name }, facts] as const,
    ...around.filter(([{ kind }]) => kind === 'group'),
  ].map(([name, of]) => levelOf(of, name));
  const user = around.some(([{ kind }]) => kind === 'user') ? 'zoe' : undefined;
  return refusalAt(
    { ...request, user },
    {
      key,
      levels,
      month: MONTH,
      balanceNanos,
      heldNanos,
      creditEnforced,
      wallMs: NOON,
      nowMs: NOW,
    },
  );
}

const NOW = 1_000_000;
const MONTH = '2026-11';
const REQUEST: AdmissionRequest = {
  requestId: 'req_asking',
  keyHash: 'hash',
  model: 'mock/echo',
  reservedTokens: 300,
  inputTokens: 100,
  outputTokens: 200,
  holdNanos: 2n * USD,
};

/**
 * A key with room for three requests, 1,000 tokens and two slots, and ten USD of credit. REQUEST is
 * admitted.
 */
function soundFacts(): Facts {
  return {
    key: {
      id: 'key_1',
      name: 'app',
      preview: 'sk-inf-…0000',
      state: 'enabled',
      allowlist: null,
      rpm: 3,
      tpm: 1_000,
      concurrency: 2,
      spendLimitNanos: 5n * USD,
      budgets: [],
      expiresAtMs: null,
      createdAtMs: NOON,
      ...ALONE,
    },
    limits: { rpm: 3, tpm: 1_000, concurrency: 2, modelsRpm: 5 },
    activity: new Activity(),
    chargedNanos: 0n,
    balanceNanos: 10n * USD,
    heldNanos: 0n,
    creditEnforced: true,
  };
}

let leases = 0;

/** A request of the key that is in flight. */
function openLease(facts: Facts, lease: { tokens?: number; holdNanos?: bigint; month?: string; agoMs?: number }): void {
  const { tokens = 0, holdNanos = 0n, month = MONTH, agoMs = 0 } = lease;
  const requestId = `req_${++leases}`;
  const hold = {
    requestId,
    keyId: 'key_1',
    model: 'm',
    admittedAtMs: month === MONTH ? NOON : Date.parse(`${month}-15`),
    inputTokens: 0,
    outputTokens: 0,
    holdNanos,
  };
  facts.activity.open({ hold, reservedTokens: tokens, month, admittedMonotonicMs: NOW - agoMs, hasSlot: true });
  facts.heldNanos += holdNanos;
}

interface Condition {
  readonly refusal: Refusal;
  /** Violates this precondition and no other. */
  readonly worsen: (facts: Facts) => void;
}

/** The preconditions in the order in which they are checked. */
const CONDITIONS: readonly Condition[] = [
  {
    refusal: { reason: 'unknown_key' },
    worsen: (facts) => {
      facts.key = { ...facts.key, state: 'deleted' };
    },
  },
  {
    refusal: { reason: 'key_disabled' },
    worsen: (facts) => {
      if (facts.key.state !== 'deleted') facts.key = { ...facts.key, state: 'disabled' };
    },
  },
  {
    refusal: { reason: 'model_not_allowed' },
    worsen: (facts) => {
      facts.key = { ...facts.key, allowlist: ['mock/other', 'mock/echo2', 'mock/ech'] };
    },
  },
  {
    refusal: { reason: 'spend_limit_reached', keyName: 'app', limitNanos: 5n * USD },
    worsen: (facts) => {
      facts.chargedNanos = 5n * USD;
    },
  },
  {
    refusal: { reason: 'insufficient_credit', keyName: 'app', balanceNanos: 2n * USD - 1n },
    worsen: (facts) => {
      facts.balanceNanos = 2n * USD - 1n;
    },
  },
  {
    refusal: { reason: 'larger_than_token_limit', limit: 299 },
    worsen: (facts) => {
      facts.limits = { ...facts.limits, tpm: 299 };
    },
  },
  {
    refusal: { reason: 'requests_per_minute', limit: 3, retryAfterS: 40 },
    worsen: (facts) => {
      for (const agoMs of [20_000, 10_000, 0]) facts.activity.requests.add(NOW - agoMs, 1);
    },
  },
  {
    refusal: { reason: 'tokens_per_minute', limit: 1_000, retryAfterS: 30 },
    worsen: (facts) => {
      for (const agoMs of [30_000, 10_000]) facts.activity.tokens.add(NOW - agoMs, 450);
      facts.activity.tokens.add(NOW, 100);
    },
  },
  {
    refusal: { reason: 'concurrency', limit: 2, retryAfterS: 1 },
    worsen: (facts) => {
      openLease(facts, {});
      openLease(facts, {});
    },
  },
  {
    refusal: { reason: 'money_spoken_for', retryAfterS: 1 },
    worsen: (facts) => {
      facts.heldNanos += facts.balanceNanos - 2n * USD + 1n;
    },
  },
];

const reasonOf = (facts: Facts) => refusalOf(REQUEST, facts)?.reason;

test('a request that meets every precondition is not refused', () => {
  assert.equal(refusalOf(REQUEST, soundFacts()), undefined);
});

describe('each precondition has a refusal of its own, and is checked before the later ones:', () => {
  for (const [position, { refusal, worsen }] of CONDITIONS.entries()) {
    test(refusal.reason, () => {
      const facts = soundFacts();
      worsen(facts);
      assert.deepEqual(refusalOf(REQUEST, facts), refusal);
      for (const later of CONDITIONS.slice(position + 1)) {
        const both = soundFacts();
        later.worsen(both);
        worsen(both);
        assert.equal(reasonOf(both), refusal.reason, `${later.refusal.reason} was looked at before`);
      }
    });
  }
});

/** What is of the account, and not of a level. */
const OF_ACCOUNT: readonly string[] = ['insufficient_credit', 'money_spoken_for'];

describe('each precondition holds at every level, the innermost first, and all of one before the next:', () => {
  const USER: LevelName = { kind: 'user', name: 'app' };
  const GROUP: LevelName = { kind: 'group', name: 'research' };
  const conditions = CONDITIONS.filter(
    ({ refusal: { reason } }) => reason !== 'unknown_key' && !OF_ACCOUNT.includes(reason),
  );
  const worse = ({ worsen }: Condition) => {
    const facts = soundFacts();
    worsen(facts);
    return facts;
  };
  for (const [position, condition] of conditions.entries()) {
    const { refusal } = condition;
    test(refusal.reason, () => {
      for (const level of [USER, GROUP]) {
        assert.deepEqual(refusalOf(REQUEST, soundFacts(), [[level, worse(condition)]]), { ...refusal, level });
      }
      const both = [
        [USER, worse(condition)],
        [GROUP, worse(condition)],
      ] as const;
      // Who is blocked is looked at with the body, which may name them.
      const first = refusal.reason === 'key_disabled' ? GROUP : USER;
      assert.deepEqual(refusalOf(REQUEST, soundFacts(), both), { ...refusal, level: first });
      const own = worse(condition);
      assert.deepEqual(refusalOf(REQUEST, own, both.slice(1)), refusal);
      for (const later of conditions.slice(position + 1)) {
        const reason = refusalOf(REQUEST, worse(later), both.slice(1))?.reason;
        assert.equal(
          reason,
          refusal.reason,
          `${later.refusal.reason} of the key was looked at before that of its group`,
        );
      }
    });
  }

  test('an end user who is blocked is refused after key, groups and models, and before money', () => {
    const conditionOf = (reason: Refusal['reason']) =>
      conditions.find(({ refusal }) => refusal.reason === reason) as Condition;
    const around = [[USER, worse(conditionOf('key_disabled'))]] as const;
    const reached = (reason: Refusal['reason']) => refusalOf(REQUEST, worse(conditionOf(reason)), around);
    const blocked = { reason: 'key_disabled', level: USER };
    assert.deepEqual(reached('key_disabled'), { reason: 'key_disabled' });
    assert.equal(reached('model_not_allowed')?.reason, 'model_not_allowed');
    assert.deepEqual(reached('spend_limit_reached'), blocked);
  });

  test('the wait is the longest of all levels', () => {
    const facts = soundFacts();
    for (const agoMs of [20_000, 10_000, 0]) facts.activity.requests.add(NOW - agoMs, 1);
    const group = soundFacts();
    for (const agoMs of [15_000, 10_000, 0]) group.activity.requests.add(NOW - agoMs, 1);
    const refusal = { reason: 'requests_per_minute', limit: 3, retryAfterS: 45 };
    assert.deepEqual(refusalOf(REQUEST, facts, [[GROUP, group]]), refusal);
  });
});

describe('at the boundary of a precondition:', () => {
  const rows: readonly (readonly [claim: string, change: (facts: Facts) => void, reason: string | undefined])[] = [
    [
      'a spend limit is reached by charges that equal it',
      (facts) => Object.assign(facts, { chargedNanos: 5n * USD }),
      'spend_limit_reached',
    ],
    [
      'a spend limit is not reached a nanodollar below it',
      (facts) => Object.assign(facts, { chargedNanos: 5n * USD - 1n }),
      undefined,
    ],
    [
      'a balance that equals the hold covers it',
      (facts) => Object.assign(facts, { balanceNanos: 2n * USD }),
      undefined,
    ],
    [
      'a balance that is not looked at may be short',
      (facts) => {
        facts.balanceNanos = -1n;
        facts.creditEnforced = false;
      },
      undefined,
    ],
    [
      'the balance less all holds may equal the hold',
      (facts) => Object.assign(facts, { heldNanos: 8n * USD }),
      undefined,
    ],
    [
      'a request may be as large as the token limit',
      (facts) => Object.assign(facts, { limits: { ...facts.limits, tpm: 300 } }),
      undefined,
    ],
    [
      'tokens may come to the limit',
      (facts) => {
        facts.activity.tokens.add(NOW, 700);
      },
      undefined,
    ],
    [
      'tokens may not pass the limit by one',
      (facts) => {
        facts.activity.tokens.add(NOW, 701);
      },
      'tokens_per_minute',
    ],
    [
      'a reservation counts however old it is',
      (facts) => {
        openLease(facts, { tokens: 701, agoMs: 600_000 });
      },
      'tokens_per_minute',
    ],
    [
      'holds that fill the spend limit up speak for it',
      (facts) => {
        facts.chargedNanos = 3n * USD;
        openLease(facts, { holdNanos: 2n * USD });
      },
      'money_spoken_for',
    ],
    [
      'holds that leave a nanodollar of the spend limit do not',
      (facts) => {
        facts.chargedNanos = 3n * USD - 1n;
        openLease(facts, { holdNanos: 2n * USD });
      },
      undefined,
    ],
    [
      'holds of the month before do not count against this one',
      (facts) => {
        openLease(facts, { holdNanos: 5n * USD, month: '2026-10' });
      },
      undefined,
    ],
  ];
  for (const [claim, change, reason] of rows) {
    test(claim, () => {
      const facts = soundFacts();
      change(facts);
      assert.equal(reasonOf(facts), reason);
    });
  }
});

test('a free model needs no credit, but a reached spend limit still refuses it', () => {
  const free = { ...REQUEST, holdNanos: 0n };
  const poor = { ...soundFacts(), balanceNanos: -5n * USD, heldNanos: 3n * USD };
  assert.equal(refusalOf(free, poor), undefined);
  assert.equal(refusalOf(free, { ...poor, chargedNanos: 5n * USD })?.reason, 'spend_limit_reached');
});

describe('the wait that a refusal names', () => {
  const waitOf = (facts: Facts, request = REQUEST) => {
    const refusal = refusalOf(request, facts);
    return refusal !== undefined && 'retryAfterS' in refusal ? refusal.retryAfterS : undefined;
  };

  test('is the longest wait of all limits that are exceeded', () => {
    const facts = soundFacts();
    for (const agoMs of [20_000, 10_000, 0]) facts.activity.requests.add(NOW - agoMs, 1);
    facts.activity.tokens.add(NOW - 5_000, 900);
    openLease(facts, {});
    openLease(facts, {});
    assert.equal(reasonOf(facts), 'requests_per_minute');
    assert.equal(waitOf(facts), 55);
  });

  test('ends when enough tokens have left the window, not all of them', () => {
    const facts = soundFacts();
    facts.activity.tokens.add(NOW - 50_000, 200);
    facts.activity.tokens.add(NOW - 20_000, 500);
    facts.activity.tokens.add(NOW - 1_000, 300);
    assert.equal(waitOf(facts), 40);
    assert.equal(waitOf(facts, { ...REQUEST, reservedTokens: 200 }), 10);
    assert.equal(waitOf(facts, { ...REQUEST, reservedTokens: 701 }), 59);
  });

  test('takes an open reservation to end 60 seconds after its admission', () => {
    const facts = soundFacts();
    facts.limits = { ...facts.limits, concurrency: 10 };
    openLease(facts, { tokens: 400, agoMs: 45_000 });
    facts.activity.tokens.add(NOW - 30_000, 300);
    openLease(facts, { tokens: 300, agoMs: 10_000 });
    assert.equal(waitOf(facts), 15);
    assert.equal(waitOf(facts, { ...REQUEST, reservedTokens: 600 }), 30);
    assert.equal(waitOf(facts, { ...REQUEST, reservedTokens: 900 }), 50);
  });

  test('is one second for a reservation that is older than that', () => {
    const facts = soundFacts();
    openLease(facts, { tokens: 900, agoMs: 200_000 });
    assert.equal(waitOf(facts), 1);
  });
});
