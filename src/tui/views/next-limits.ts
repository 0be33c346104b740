/** The limits that will be reached first, at any level, as bars with the remaining time. */

import { levelWord, type NextSpent, nextSpent, shareSpent, spentAtText } from '../../operator/spending.ts';
import { clean, cutMiddle, fit, pad, widthOf } from '../../operator/text.ts';
import { bar } from '../draw/chart.ts';
import { bold, dim, type Line, span } from '../draw/line.ts';
import type { Model, StoredGroup, StoredKey } from '../model.ts';
import { amountOf } from './money.ts';

/** Maximum limits below the head. */
export const MOST_LIMITS = 3;
/** The minimum used share of a limit for a forecast. */
const LEAST_SHARE = 0.25;
const NAME = 24;
const PERIOD = 6;
const LEAST_BAR = 6;
const MOST_BAR = 30;
const SOON_MS = 3_600_000;

type Next = NextSpent<StoredKey | StoredGroup>;

let last: { readonly of: readonly unknown[]; readonly next: readonly Next[] } | undefined;

/** Cached per read of the state and per minute: with many keys it takes some milliseconds. */
function nextLimits({ stored, nowMs }: Model): readonly Next[] {
  const of = [stored.keys, stored.groups, Math.floor(nowMs / 60_000)];
  if (last === undefined || of.some((part, index) => part !== last?.of[index])) {
    const next = nextSpent<StoredKey | StoredGroup>([...stored.groups, ...stored.keys], nowMs, MOST_LIMITS);
    last = { of, next: next.filter((each) => each.spentAtMs !== undefined || shareSpent(each.bound) >= LEAST_SHARE) };
  }
  return last.next;
}

/**
 * Lines such as `@nlp  day  ███████▌░ 25.41/27.00 USD · spent at 16:15 (58 min)`, at most `room` including the head.
 */
export function limitLines(model: Model, width: number, room: number): Line[] {
  const next = nextLimits(model).slice(0, Math.max(0, room - 1));
  if (next.length === 0) return [];
  const name = Math.min(NAME, Math.max(...next.map((each) => widthOf(nameOf(each)))));
  return [
    [bold('Next limits'), dim('  at the pace of their period')],
    ...next.map((each) => limitLine(each, name, model.nowMs, width)),
  ];
}

function nameOf({ level: { record } }: Next): string {
  return clean(levelWord(record));
}

function limitLine(each: Next, name: number, nowMs: number, width: number): Line {
  const { bound, spentAtMs } = each;
  const amounts = ` ${amountOf(bound.chargedNanos)}/${amountOf(bound.limitNanos)} USD`;
  const outlook = spentAtMs === undefined ? 'not reached at its pace' : spentAtText(spentAtMs, nowMs);
  const used = name + 1 + PERIOD + 1 + amounts.length + outlook.length + 3;
  const room = Math.max(LEAST_BAR, Math.min(MOST_BAR, width - used));
  const isSoon = spentAtMs !== undefined && spentAtMs - nowMs < SOON_MS;
  return [
    { text: `${pad(cutMiddle(nameOf(each), name), name)} ` },
    dim(`${fit(bound.period, PERIOD)} `),
    ...bar(Number(bound.chargedNanos), Number(bound.limitNanos), room),
    { text: amounts },
    dim(' · '),
    span(outlook, spentAtMs === undefined ? { dim: true } : { tone: isSoon ? 'bad' : 'warn' }),
  ];
}
