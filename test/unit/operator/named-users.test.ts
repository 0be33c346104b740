/** Which figures of an end user are shown: those of the level, those by the name, or none. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { monthToShow, namedThisMonth, wasNamed } from '../../../src/operator/named-users.ts';
import type { Owner } from '../../../src/state/keys.ts';
import { NO_USER_LIMITS } from '../../../src/state/levels.ts';
import type { OpenState } from '../../../src/state/state.ts';
import type { UsageQuery, UsageReport } from '../../../src/state/usage.ts';

const NOW = Date.parse('2026-11-24T12:00:00Z');
const MONTH = Date.parse('2026-11-01T00:00:00Z');
const OWNER = { id: 'key_1', userLimits: null } as Owner;
const FIGURES = { requests: 3, promptTokens: 20, completionTokens: 10, costNanos: 7n };
const ZOE = { requests: 3, tokens: 30, costNanos: 7n };
const NONE = { requests: 0, tokens: 0, costNanos: 0n };

function usageOf(names: readonly string[], droppedDays: readonly string[] = []) {
  const asked: UsageQuery[] = [];
  const report = async (query: UsageQuery) => {
    asked.push(query);
    return { rows: names.map((user) => ({ user, ...FIGURES })), droppedDays } as unknown as UsageReport;
  };
  return { asked, usage: { report } as unknown as OpenState['usage'] };
}

describe('the figures by a name', () => {
  for (const [what, names, dropped, asked, expected] of [
    ['a name with a sum', ['zoe', 'other'], [], 'zoe', ZOE],
    ['a name without requests', ['zoe'], [], 'ann', NONE],
    ['a name that may be among others', ['zoe', 'other'], [], 'ann', undefined],
    ['the name of all others', ['other'], [], 'other', undefined],
    ['a name whose requests may have been dropped', ['zoe'], ['2026-11-02'], 'ann', undefined],
    ['a name that reports shorten', [`${'x'.repeat(127)}…`], [], 'x'.repeat(200), undefined],
  ] as const) {
    test(`of ${what}: ${expected === undefined ? 'not known' : expected.requests}`, async () => {
      const { usage, asked: queries } = usageOf(names, dropped);
      assert.deepEqual((await namedThisMonth(OWNER, usage, NOW))(asked), expected);
      assert.deepEqual([queries[0]?.keyId, queries[0]?.sinceMs], ['key_1', MONTH]);
    });
  }

  test('of a group are those booked to it', async () => {
    const { usage, asked } = usageOf(['zoe']);
    await namedThisMonth({ ...OWNER, id: 'grp_1' }, usage, NOW);
    assert.deepEqual([asked[0]?.keyId, asked[0]?.groupId], [undefined, 'grp_1']);
  });

  test('of all time tell whether a name was seen', async () => {
    const { usage, asked } = usageOf(['zoe', 'other']);
    assert.deepEqual([await wasNamed(OWNER, usage, 'zoe'), await wasNamed(OWNER, usage, 'ann')], [true, false]);
    assert.equal(asked[0]?.sinceMs, undefined);
  });
});

test('the figures of a level are shown once they are complete', () => {
  const limited = { ...OWNER, userLimits: NO_USER_LIMITS };
  assert.equal(monthToShow(OWNER, NONE, undefined), undefined);
  assert.equal(monthToShow(OWNER, NONE, ZOE), ZOE);
  assert.equal(monthToShow(limited, NONE, ZOE), ZOE);
  assert.equal(monthToShow(limited, ZOE, NONE), ZOE);
  assert.equal(monthToShow(limited, NONE, undefined), NONE);
});
