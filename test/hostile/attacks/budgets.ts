/** Attacks on limits in time: sliding budgets, and the budget of a command. */
import { setTimeout } from 'node:timers/promises';
import type { Attack, Family } from '../attack.ts';
import { Leash } from '../leash.ts';
import { overLimit, steps } from '../measures.ts';
import { asks, billedNanos, COUNT_ERROR, DEFAULT_OUTPUT, type HostileSite } from '../site.ts';

const PERIOD_MS = 1_000;
const MAXIMUM = 2_000;
const ONE_REQUEST = steps(MAXIMUM / DEFAULT_OUTPUT);
const BUDGET_NANOS = ONE_REQUEST / 2;
const REQUESTS = 3;

/** The most that is billed for requests of which each begins within the budget's period after the one before, and takes longer. */
async function billedByLongRequests(site: HostileSite): Promise<number> {
  const key = site.key({ budgets: [{ period: `${PERIOD_MS / 1_000}s`, limitNanos: BigInt(BUDGET_NANOS) }] });
  const request = { body: asks('exact', { max_tokens: MAXIMUM }), wish: { tokens: MAXIMUM } };
  let most = 0;
  let billed = 0;
  let settledMs = performance.now();
  for (let sent = 0; sent < REQUESTS; sent++) {
    const release = site.host.holdAnswers();
    // A machine that is busy for that long frees the budget.
    if (performance.now() - settledMs >= PERIOD_MS) billed = 0;
    const sending = site.send(key, request);
    await setTimeout(1.2 * PERIOD_MS);
    release();
    const outcome = await sending;
    await site.settled([key], [outcome]);
    const nanos = billedNanos([outcome]);
    // One that was refused takes nothing, so that the budget is free a second after the last that was not.
    if (nanos > 0) settledMs = performance.now();
    billed += nanos;
    most = Math.max(most, billed);
  }
  return most;
}

const sliding: Attack = {
  claim: 'requests that take longer than a sliding budget count in it',
  tries: `${REQUESTS} requests one after another that each take longer than the second of a sliding budget, and cost twice as much`,
  ...overLimit('budget', BUDGET_NANOS, ONE_REQUEST * COUNT_ERROR),
  run: async (workshop) => (await billedByLongRequests(await workshop.site('plain'))) / BUDGET_NANOS,
};

const LEASHED = 30;
const LEASH_USD = 0.05;

const leash: Attack = {
  claim: 'a command on a leash cannot pass its budget with requests that set no maximum',
  passes: 'budget',
  tries: `a command under \`run --max-usd ${LEASH_USD}\` that sends ${LEASHED} requests at once, none of which sets a maximum`,
  unit: 'times the budget',
  most: 1.12,
  run: async ({ scope }) => {
    const held = await Leash.open(scope);
    return (await held.billedUsd(LEASH_USD, LEASHED)) / LEASH_USD;
  },
};

export const BUDGETS: Family = {
  title: 'Budgets',
  about:
    'A sliding budget counts what is charged in the last seconds, hours or days. A command on a leash has one that ends it.',
  attacks: [sliding, leash],
};
