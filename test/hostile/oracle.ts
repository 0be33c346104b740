/**
 * What holds of every attack, however it is composed: nobody is billed more than is charged, and no
 * limit is passed.
 */
import type { TestKey } from '../support/gateway.ts';
import type { Composition } from './compose.ts';
import { type Bill, ignoresMaximum } from './conversation.ts';
import { HOST_MODELS } from './pricing.ts';
import {
  billedNanos,
  billsOf,
  COUNT_ERROR,
  DEFAULT_OUTPUT,
  ESTIMATE_ERROR,
  type HostileSite,
  type Request,
} from './site.ts';
import type { Outcome } from './truthful-site.ts';

/** What an attack was, and how far it came. */
export interface Attempted<Sent = Request> {
  readonly key: TestKey;
  readonly composition: Composition<Sent>;
  readonly outcomes: readonly Outcome[];
}

/** How far an attack came, as a share of what it may reach: above 1 it has passed. */
export type Worst = Readonly<Record<Measure, number>>;

export const MEASURES = ['charge', 'spend limit', 'token window', 'allowlist', 'slots'] as const;
export type Measure = (typeof MEASURES)[number];

/** What a token of output costs, in nanodollars. */
function outputPrice({ model, outputNanos }: Bill): number {
  return outputNanos ?? HOST_MODELS[model]?.output ?? 0;
}

/** What the hold of this request grows by. */
export function stepOf(bill: Bill): number {
  return outputPrice(bill) * DEFAULT_OUTPUT * bill.choices;
}

/**
 * Whether the host read a maximum. Without one, a stream is held for step by step and JSON not
 * beyond its first hold.
 */
const isBounded = ({ declaredOutput }: Bill) => declaredOutput !== undefined;

/** What a bill may add beyond a limit: what nobody could hold for at admission. */
function slackOf(bill: Bill): number {
  if (bill.isStream) return ignoresMaximum(bill) ? 2 * stepOf(bill) + toleratedOf(bill) : stepOf(bill);
  // A JSON answer cannot be cut: without a maximum that its host reads, it costs what its model
  // writes.
  return isBounded(bill) ? 0 : bill.outputTokens * outputPrice(bill);
}

/** Hosts have other tokenizers: up to so many times a maximum nothing says that its host ignores it. That is looked at once a step. */
const TOLERANCE = 1.25;

function toleratedOf(bill: Bill): number {
  return (TOLERANCE - 1) * bill.heldOutput * bill.choices * outputPrice(bill);
}

/** What is held for a request at first. */
function holdOf(bill: Bill): number {
  if (isBounded(bill) || bill.isHeldWhole) return bill.costNanos;
  const writtenNanos = bill.outputTokens * outputPrice(bill);
  const heldNanos = bill.heldOutput * bill.choices * outputPrice(bill);
  const firstNanos = bill.costNanos - writtenNanos + Math.max(stepOf(bill), Math.min(writtenNanos, heldNanos));
  return Math.max(firstNanos, bill.refusedNanos ?? 0);
}

const sum = (bills: readonly Bill[], figure: (bill: Bill) => number) =>
  bills.reduce((total, bill) => total + figure(bill), 0);

/** Judges an attack whose requests are all settled. */
export function judge(site: Pick<HostileSite, 'charged'>, attempted: Attempted<unknown>): Worst {
  const { key, composition, outcomes } = attempted;
  const { spendLimitNanos, tpm, allowlist, concurrency } = composition.settings;
  const bills = billsOf(outcomes);
  const billed = billedNanos(outcomes);
  return {
    charge: share(billed, site.charged(key) * chargeErrorOf(bills) + sum(bills, stepOf)),
    'spend limit': spendLimitNanos == null ? 0 : share(billed, mostSpent(bills, Number(spendLimitNanos))),
    'token window': tpm == null ? 0 : share(reservedTokens(bills), mostTokens(bills, tpm)),
    allowlist: allowlist == null ? 0 : PASSED * bills.filter(({ model }) => model !== 'vendor-cheap').length,
    slots: concurrency == null ? 0 : mostAtOnce(bills) / concurrency,
  };
}

/** What is charged as held goes by the estimate of its input, and anything else by its count. */
function chargeErrorOf(bills: readonly Bill[]): number {
  return bills.some(({ isLost }) => isLost) ? ESTIMATE_ERROR : COUNT_ERROR;
}

/** The share of the balance that a round of attacks had. */
export function judgeBalance(balanceNanos: number, attempts: readonly Attempted<unknown>[]): number {
  const bills = attempts.flatMap(({ outcomes }) => billsOf(outcomes));
  return share(
    sum(bills, ({ costNanos }) => costNanos),
    balanceNanos * ESTIMATE_ERROR + sum(bills, slackOf),
  );
}

/** The share of an attack that got something forbidden. */
const PASSED = 2;

export function share(part: number, whole: number): number {
  return part === 0 ? 0 : part / Math.max(1, whole);
}

/** Requests are admitted until the limit is reached: the last one may pass it. */
function mostSpent(bills: readonly Bill[], limit: number): number {
  const last = Math.max(0, ...bills.map(holdOf));
  return (limit + last) * ESTIMATE_ERROR + sum(bills, slackOf);
}

/** Tokens that had to be reserved: output only where a maximum is declared. */
function reservedTokens(bills: readonly Bill[]): number {
  return sum(bills, (bill) => bill.inputTokens + (isBounded(bill) ? bill.outputTokens : 0));
}

function mostTokens(bills: readonly Bill[], limit: number): number {
  return limit * ESTIMATE_ERROR + sum(bills, ({ choices, isStream }) => (isStream ? DEFAULT_OUTPUT * choices : 0));
}

/** The most requests that the host worked on at the same time. */
function mostAtOnce(bills: readonly Bill[]): number {
  return Math.max(0, ...bills.map(({ from }) => bills.filter((bill) => bill.from <= from && from < bill.to).length));
}
