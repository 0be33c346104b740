/** Compares observations with the last alert about each subject, and decides which new alerts to send. Pure. */
import { type BudgetSpend, parsePeriod } from '../core/budgets.ts';
import { DAY_MS, isoTime } from '../core/clock.ts';
import { formatUsd, type Nanos } from '../core/money.ts';
import { counted } from '../core/plural.ts';
import { perPeriod } from '../operator/budgets.ts';
import { duration } from '../operator/format.ts';
import type { MarkChange, StoredMark } from '../state/alerts.ts';
import type { AlertFacts } from './event.ts';
import type { AccountMoney, Money, ObservedUpstream, OwnerMoney, RefusedForMoney } from './observation.ts';

/** Alert thresholds as shares of a budget, in percent. */
export const LEVELS = [80, 95, 100] as const;
/** Hysteresis: a threshold is re-armed once the share is this much below it, in percent. */
export const SLACK = 5;
/** Remaining time of the credit that triggers an alert, and the remaining time that re-arms it. */
const SHORT_RUNWAY_MS = DAY_MS;
const LONG_RUNWAY_MS = 1.5 * DAY_MS;
/** Minimum number of attempts, all failed, that mark an upstream as down even if its circuit breaker is closed. */
const ALL_FAILED = 3;
/** Minimum time between two alerts about the same fault, in milliseconds. */
export const REST_MS = 5 * 60_000;
/** Minimum time between runway alerts. It is longer, because the spending rate changes with the time of day. */
export const RUNWAY_REST_MS = DAY_MS;
/** Time without refusals after which the next refusal causes an alert again. */
export const QUIET_MS = 10 * 60_000;
/** Remaining time at which a refusal extends its mark. Extending it with every refusal would cost a write each. */
const EXTEND_MS = QUIET_MS / 2;

export type Marks = ReadonlyMap<string, StoredMark>;

/** Change of a mark, with its alert if any. */
export interface Verdict {
  readonly change: MarkChange;
  readonly facts: AlertFacts | undefined;
}

/** Judges credit and budgets, and removes the marks of deleted budgets. */
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
  // Sliding and total budgets have a single span.
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

/** Judges the share spent of the credit, measured from the last credit entry. */
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
  /** A new span resets all thresholds. */
  readonly span: string;
  readonly spentNanos: Nanos;
  readonly limitNanos: Nanos;
}

/**
 * Reports the highest threshold reached, once per span. Re-arms thresholds after the share has fallen {@link SLACK} below them.
 */
function judgeShare(
  { subject, span, spentNanos, limitNanos }: Share,
  marks: Marks,
  nowMs: number,
  facts: (level: number) => AlertFacts,
): Verdict | undefined {
  // A limit of 0 blocks the key on purpose.
  if (limitNanos <= 0n) return undefined;
  const mark = marks.get(subject);
  const reported = mark?.span === span ? Number(mark.value) : 0;
  const reached = levelOf(spentNanos, limitNanos);
  const marked = (level: number, toldAtMs: number) => ({
    subject,
    revision: mark?.revision ?? 0,
    mark: { span, value: String(level), toldAtMs, untilMs: null },
  });
  if (reached > reported) return { change: marked(reached, nowMs), facts: facts(reached) };
  const lowered = levelOf(spentNanos + (limitNanos * BigInt(SLACK)) / 100n, limitNanos);
  if (lowered < reported) return { change: marked(lowered, mark?.toldAtMs ?? nowMs), facts: undefined };
  return undefined;
}

/** Returns the highest threshold reached, or 0. */
export function levelOf(spentNanos: Nanos, limitNanos: Nanos): number {
  return LEVELS.findLast((level) => spentNanos * 100n >= limitNanos * BigInt(level)) ?? 0;
}

function judgeRunway({ entry, balanceNanos, forecast }: AccountMoney, marks: Marks, nowMs: number) {
  const subject = 'account/runway';
  const mark = marks.get(subject);
  const isReported = mark?.span === entry && mark.value === 'short';
  const revision = mark?.revision ?? 0;
  const change = (value: string, toldAtMs: number) => ({
    subject,
    revision,
    mark: { span: entry, value, toldAtMs, untilMs: null },
  });
  // An exhausted credit is reported by the other subjects.
  if (forecast?.kind === 'ends' && forecast.inMs < SHORT_RUNWAY_MS) {
    if (isReported || (mark?.span === entry && nowMs - mark.toldAtMs < RUNWAY_REST_MS)) return undefined;
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
  if (isReported && isLong) return { change: change('long', mark.toldAtMs), facts: undefined };
  return undefined;
}

/** An upstream is down at once, and up again after recent requests have succeeded. */
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
    // REST_MS counts from the "down" alert.
    return {
      change: change('up', mark.toldAtMs),
      facts: { kind: 'upstream_up', severity: 'info', text, ...about, figures },
    };
  }
  return undefined;
}

/** Reports refusals when they begin. `nameOf` returns the name of a key. */
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
  // Credit belongs to the account, so all keys share one subject. A spending limit may also belong to a group or an end user.
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

/** Removes the marks of ended refusals. */
export function endedRefusals(marks: Marks, nowMs: number): Verdict[] {
  return [...marks]
    .filter(([, { untilMs }]) => untilMs !== null && untilMs <= nowMs)
    .map(([subject, { revision }]) => ({ change: { subject, revision, mark: undefined }, facts: undefined }));
}
