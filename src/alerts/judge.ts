/** Decides what is news: compares what is seen with the last alert about each subject. Pure. */
import { type BudgetSpend, parsePeriod } from '../core/budgets.ts';
import { DAY_MS, isoTime } from '../core/clock.ts';
import { formatUsd, type Nanos } from '../core/money.ts';
import { counted } from '../core/plural.ts';
import { perPeriod } from '../operator/budgets.ts';
import { duration } from '../operator/format.ts';
import type { MarkChange, StoredMark } from '../state/alerts.ts';
import type { AlertFacts } from './event.ts';
import type { AccountMoney, Money, ObservedUpstream, OwnerMoney, RefusedForMoney } from './observation.ts';

/** Shares of a budget that are told when they are reached, in percent. */
export const LEVELS = [80, 95, 100] as const;
/** A level is told again only after the share was this much below it, in percent. */
export const SLACK = 5;
/** Credit that ends sooner is told, and told again only after it would have lasted longer than the second figure. */
const SHORT_RUNWAY_MS = DAY_MS;
const LONG_RUNWAY_MS = 1.5 * DAY_MS;
/** So many attempts, all of them failed, are an upstream that is down, whatever its circuit breaker says. */
const ALL_FAILED = 3;
/** The least time between two messages that the same thing has gone wrong, in milliseconds. */
export const REST_MS = 5 * 60_000;
/** The same for the runway, whose pace changes with the time of day. */
export const RUNWAY_REST_MS = DAY_MS;
/** Refusals are told again only after there were none for so long. */
export const QUIET_MS = 10 * 60_000;
/** How long before its end a mark that refusals keep is put off: not with each of them. */
const EXTEND_MS = QUIET_MS / 2;

export type Marks = ReadonlyMap<string, StoredMark>;

/** A change of a mark, and what is told with it. */
export interface Verdict {
  readonly change: MarkChange;
  readonly facts: AlertFacts | undefined;
}

/** The verdicts on balances and budgets, and on marks of budgets that are gone. */
export function judgeMoney({ owners, account }: Money, marks: Marks, nowMs: number): Verdict[] {
  const seen = new Set<string>();
  const subjects = owners.flatMap((owner) =>
    owner.budgets.map((budget) => ({ subject: `budget/${owner.id}/${budget.period}`, owner, budget })),
  );
  for (const { subject } of subjects) seen.add(subject);
  const gone = [...marks].filter(([subject]) => subject.startsWith('budget/') && !seen.has(subject));
  return [
    ...subjects.map(({ subject, owner, budget }) => judgeBudget(subject, owner, budget, marks, nowMs)),
    ...(account === undefined ? [] : [judgeCredit(account, marks, nowMs), judgeRunway(account, marks, nowMs)]),
    ...gone.map(([subject, { revision }]) => ({ change: { subject, revision, mark: undefined }, facts: undefined })),
  ].filter((verdict) => verdict !== undefined);
}

function judgeBudget(
  subject: string,
  { kind: owner, id, name }: OwnerMoney,
  budget: BudgetSpend,
  marks: Marks,
  nowMs: number,
): Verdict | undefined {
  const { period, limitNanos, chargedNanos, resetsAtMs } = budget;
  const isSliding = parsePeriod(period)?.kind === 'sliding';
  // What slides or never ends is one span.
  const span = isSliding || resetsAtMs === null ? '' : String(resetsAtMs);
  return judgeShare({ subject, span, spentNanos: chargedNanos, limitNanos }, marks, nowMs, (level) => ({
    kind: 'budget',
    severity: level === 100 ? 'critical' : 'warning',
    text: `the ${owner} ${name} has spent ${shareText(level, limitNanos)} ${perPeriod(period)}`,
    [owner]: { id, name },
    figures: {
      period,
      level_percent: String(level),
      spent_usd: formatUsd(chargedNanos),
      limit_usd: formatUsd(limitNanos),
      resets_at: resetsAtMs === null ? null : isoTime(resetsAtMs),
    },
  }));
}

/** How much is used of the credit that there was when some was last added. */
function judgeCredit({ entry, creditNanos, balanceNanos }: AccountMoney, marks: Marks, nowMs: number) {
  const share = {
    subject: 'account/credit',
    span: entry,
    spentNanos: creditNanos - balanceNanos,
    limitNanos: creditNanos,
  };
  return judgeShare(share, marks, nowMs, (level) => ({
    kind: 'budget',
    severity: level === 100 ? 'critical' : 'warning',
    text: `the account has spent ${shareText(level, creditNanos)} of credit`,
    figures: {
      period: 'credit',
      level_percent: String(level),
      spent_usd: formatUsd(share.spentNanos),
      limit_usd: formatUsd(creditNanos),
      resets_at: null,
    },
  }));
}

function shareText(level: number, limitNanos: Nanos): string {
  return level === 100 ? `all of its ${formatUsd(limitNanos)} USD` : `${level}% of its ${formatUsd(limitNanos)} USD`;
}

interface Share {
  readonly subject: string;
  /** In another span all levels are news. */
  readonly span: string;
  readonly spentNanos: Nanos;
  readonly limitNanos: Nanos;
}

/** Tells the highest level that is reached, once; and takes back what is told where the share has fallen well below. */
function judgeShare(
  { subject, span, spentNanos, limitNanos }: Share,
  marks: Marks,
  nowMs: number,
  facts: (level: number) => AlertFacts,
): Verdict | undefined {
  // Nothing can be spent of a limit of 0, which is set to stop a key.
  if (limitNanos <= 0n) return undefined;
  const mark = marks.get(subject);
  const told = mark?.span === span ? Number(mark.value) : 0;
  const reached = levelOf(spentNanos, limitNanos);
  const marked = (level: number, toldAtMs: number) => ({
    subject,
    revision: mark?.revision ?? 0,
    mark: { span, value: String(level), toldAtMs, untilMs: null },
  });
  if (reached > told) return { change: marked(reached, nowMs), facts: facts(reached) };
  const kept = levelOf(spentNanos + (limitNanos * BigInt(SLACK)) / 100n, limitNanos);
  if (kept < told) return { change: marked(kept, mark?.toldAtMs ?? nowMs), facts: undefined };
  return undefined;
}

/** The highest level that is reached; 0 below all of them. */
export function levelOf(spentNanos: Nanos, limitNanos: Nanos): number {
  return LEVELS.findLast((level) => spentNanos * 100n >= limitNanos * BigInt(level)) ?? 0;
}

function judgeRunway({ entry, balanceNanos, forecast }: AccountMoney, marks: Marks, nowMs: number) {
  const subject = 'account/runway';
  const mark = marks.get(subject);
  const isTold = mark?.span === entry && mark.value === 'short';
  const revision = mark?.revision ?? 0;
  const change = (value: string, toldAtMs: number) => ({
    subject,
    revision,
    mark: { span: entry, value, toldAtMs, untilMs: null },
  });
  // Where nothing is free the other subjects tell it.
  if (forecast?.kind === 'ends' && forecast.inMs < SHORT_RUNWAY_MS) {
    if (isTold || (mark?.span === entry && nowMs - mark.toldAtMs < RUNWAY_REST_MS)) return undefined;
    const left = duration(forecast.inMs / 1_000);
    const facts: AlertFacts = {
      kind: 'runway',
      severity: 'critical',
      text: `the credit ends in ${left} at the present pace; ${formatUsd(balanceNanos)} USD are left`,
      figures: {
        balance_usd: formatUsd(balanceNanos),
        seconds_left: String(Math.floor(forecast.inMs / 1_000)),
        ends_at: isoTime(nowMs + forecast.inMs),
      },
    };
    return { change: change('short', nowMs), facts };
  }
  const isLong = forecast?.kind === 'far' || (forecast?.kind === 'ends' && forecast.inMs > LONG_RUNWAY_MS);
  if (isTold && isLong) return { change: change('long', mark.toldAtMs), facts: undefined };
  return undefined;
}

/** An upstream goes down at once, and comes up when requests have succeeded there again. */
export function judgeUpstreams(upstreams: readonly ObservedUpstream[], marks: Marks, nowMs: number): Verdict[] {
  return upstreams.flatMap((upstream) => judgeUpstream(upstream, marks, nowMs) ?? []);
}

function judgeUpstream(upstream: ObservedUpstream, marks: Marks, nowMs: number): Verdict | undefined {
  const subject = `upstream/${upstream.upstream}`;
  const mark = marks.get(subject);
  const isDown = upstream.isOpen || (upstream.requests >= ALL_FAILED && upstream.failures === upstream.requests);
  const isUp = !upstream.isOpen && upstream.recentRequests > 0 && upstream.recentFailures === 0;
  const wasDown = mark?.value === 'down';
  const change = (value: string, toldAtMs: number) => ({
    subject,
    revision: mark?.revision ?? 0,
    mark: { span: '', value, toldAtMs, untilMs: null },
  });
  const about = { upstream: upstream.upstream };
  const figures = {
    provider: upstream.provider,
    requests: String(upstream.requests),
    failures: String(upstream.failures),
  };
  if (isDown && !wasDown && nowMs - (mark?.toldAtMs ?? Number.NEGATIVE_INFINITY) >= REST_MS) {
    const cause = upstream.cause === undefined ? '' : `: ${upstream.cause}`;
    const text = `the upstream ${upstream.upstream} is down${cause}`;
    return {
      change: change('down', nowMs),
      facts: { kind: 'upstream_down', severity: 'critical', text, ...about, figures },
    };
  }
  if (isUp && !isDown && wasDown) {
    const text = `the upstream ${upstream.upstream} is up again`;
    // The rest counts from the message that it was down.
    return {
      change: change('up', mark.toldAtMs),
      facts: { kind: 'upstream_up', severity: 'info', text, ...about, figures },
    };
  }
  return undefined;
}

/** Refusals are told when they begin. `nameOf`: the name of a key. */
export function judgeRefusals(
  refusals: readonly RefusedForMoney[],
  marks: Marks,
  nowMs: number,
  nameOf: (keyId: string) => string | undefined,
): Verdict[] {
  return refusals.flatMap((refusal) => judgeRefusal(refusal, marks, nowMs, nameOf) ?? []);
}

function judgeRefusal(
  { code, keyId, requests }: RefusedForMoney,
  marks: Marks,
  nowMs: number,
  nameOf: (keyId: string) => string | undefined,
): Verdict | undefined {
  // Credit is the account's, whichever key is refused for it. A limit may be that of a group or an end user as well.
  const subject = code === 'insufficient_credit' ? 'refused/credit' : `refused/${keyId ?? 'unknown'}`;
  const mark = marks.get(subject);
  const untilMs = nowMs + QUIET_MS;
  const change = (toldAtMs: number) => ({
    subject,
    revision: mark?.revision ?? 0,
    mark: { span: '', value: 'refusing', toldAtMs, untilMs },
  });
  if (mark?.untilMs != null && mark.untilMs > nowMs) {
    return mark.untilMs - nowMs > EXTEND_MS ? undefined : { change: change(mark.toldAtMs), facts: undefined };
  }
  const name = keyId === undefined ? undefined : (nameOf(keyId) ?? keyId);
  const who = name === undefined ? '' : ` of the key ${name}`;
  const why = code === 'insufficient_credit' ? 'the credit does not suffice' : 'a limit on its spending is reached';
  return {
    change: change(nowMs),
    facts: {
      kind: 'refused_for_money',
      severity: 'critical',
      text: `${counted(requests, 'request')}${who} refused: ${why}`,
      key: keyId === undefined || name === undefined ? undefined : { id: keyId, name },
      figures: { code, requests: String(requests) },
    },
  };
}

/** Marks of refusals that have ended, and so count no longer. */
export function endedRefusals(marks: Marks, nowMs: number): Verdict[] {
  return [...marks]
    .filter(([, { untilMs }]) => untilMs !== null && untilMs <= nowMs)
    .map(([subject, { revision }]) => ({ change: { subject, revision, mark: undefined }, facts: undefined }));
}
