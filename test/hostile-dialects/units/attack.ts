/** Runs attacks on a price: each request is charged what its host bills, alone and in a race for a balance, or is refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { UpstreamCall } from '../../support/fake-upstream.ts';
import { type EncodedForm, formOf } from '../../support/forms.ts';
import { startTestGateway, type TestGateway } from '../../support/gateway.ts';

/** A request that no host may see. */
export interface RefusedAttack {
  readonly tries: string;
  readonly path: string;
  /** Fields of the provider `fake`, with its models. */
  readonly provider: Readonly<Record<string, unknown>>;
  send(): Promise<Partial<EncodedForm>>;
}

export interface Attack extends RefusedAttack {
  /** What the host bills, in nanodollars. */
  readonly bill: number;
  /** The most that may be charged: without it, any charge that covers the bill passes. */
  readonly most?: number;
  /** The host bills what the request did not let expect, so no hold covers it. */
  readonly isUnforeseen?: true;
  /** It may be refused before any host sees it. */
  readonly mayBeRefused?: boolean;
  answer(call: UpstreamCall): void;
}

export const json = (fields: object) => async () => ({ body: Buffer.from(JSON.stringify(fields)) });

export const form =
  (...fields: Parameters<typeof formOf>[0]): Attack['send'] =>
  () =>
    formOf(fields);

export function event(fields: object): string {
  return `data: ${JSON.stringify(fields)}\n\n`;
}

/** The balance in a race pays for three requests. */
const RACE_BILLS = 3.5;

async function withCredit(
  { provider }: RefusedAttack,
  nanos: number,
  run: (gateway: TestGateway) => Promise<void>,
): Promise<void> {
  const gateway = await startTestGateway({ provider, credit: (nanos / 1e9).toFixed(9) });
  try {
    await run(gateway);
  } finally {
    await gateway.stop();
  }
}

function testCharge(attack: Attack): void {
  const { path, send, bill, most = Number.POSITIVE_INFINITY, mayBeRefused, answer } = attack;
  test('is charged no less than the host bills', () =>
    withCredit(attack, 1e12, async (gateway) => {
      const key = gateway.key();
      gateway.upstream.follow(answer);
      const reply = await gateway.request(path, { key, method: 'POST', ...(await send()) }).catch(() => undefined);
      if (mayBeRefused && reply?.status === 400) return assert.deepEqual(gateway.rows(key), []);
      const { cost_nanos: charged } = await gateway.row(key);
      assert.ok(charged >= bill, `charged ${charged} of ${bill}`);
      assert.ok(charged <= most, `charged ${charged}, ${most} at most`);
    }));
}

function testRace(attack: Attack): void {
  const { path, send, bill, answer } = attack;
  test('passes no balance in a race of ten', () =>
    withCredit(attack, RACE_BILLS * bill, async (gateway) => {
      const key = gateway.key();
      let billed = 0;
      gateway.upstream.follow((call) => {
        billed += bill;
        answer(call);
      });
      const sent = await send();
      const ask = () => gateway.request(path, { key, method: 'POST', ...sent }).catch(() => undefined);
      await Promise.all(Array.from({ length: 10 }, ask));
      await gateway.assertSettled();
      assert.ok(billed <= RACE_BILLS * bill, `billed ${billed} of ${RACE_BILLS * bill}`);
      assert.ok(gateway.balanceNanos >= 0n);
    }));
}

export function testAttacks(attacks: readonly Attack[]): void {
  for (const attack of attacks) {
    describe(attack.tries, () => {
      testCharge(attack);
      if (!attack.isUnforeseen) testRace(attack);
    });
  }
}

export function testRefused(attacks: readonly RefusedAttack[]): void {
  describe('nothing reaches a host of', () => {
    for (const attack of attacks) {
      test(attack.tries, () =>
        withCredit(attack, 1e12, async (gateway) => {
          const key = gateway.key();
          gateway.upstream.follow((call) => call.answer(200, {}));
          const reply = await gateway.request(attack.path, { key, method: 'POST', ...(await attack.send()) });
          assert.equal(reply.status, 400, reply.text);
          assert.deepEqual(gateway.rows(key), []);
        }),
      );
    }
  });
}
