/** Current troubles, the worst first: the line under the tabs, and the view that shows each cause. Pure. */
import type { Nanos } from '../core/money.ts';
import { program } from '../core/program.ts';
import { freeOf, soonestEndMs, toneOfEnd } from '../operator/forecast.ts';
import { count, usd } from '../operator/format.ts';
import { healthOf } from '../operator/health.ts';
import { roundedSpan } from '../operator/moments.ts';
import { outlookOf, tightest } from '../operator/spending.ts';
import { clean } from '../operator/text.ts';
import { dim, type Line, lineWidth, span } from './draw/line.ts';
import { localTime, zoneLabel } from './local-time.ts';
import type { Model, StoredGroup, StoredKey, TroubleKind, View } from './model.ts';
import { creditPaces } from './paces.ts';
import { accountOf, spentLevels } from './select.ts';

export interface Trouble {
  readonly about: TroubleKind;
  readonly text: string;
  /** A shorter text for narrow windows. */
  readonly brief?: string;
  readonly tone: 'warn' | 'bad';
  /** Whether the trouble is predicted. */
  readonly isForecast?: true;
  /** The view that shows the cause. */
  readonly view: View;
  readonly keyId?: string;
  readonly groupId?: string;
  readonly upstream?: string;
}

/** Maximum troubles in the line. */
export const MOST_TROUBLES = 3;
const MOST_NAMES = 2;
/** Refusals per minute above which a rate limit is a trouble. Fewer are common. */
const MANY_REFUSALS = 30;
const MINUTE_S = 60;
/** Names of budgets by period; others are named by length, such as `24h`. */
const ADJECTIVES: Readonly<Record<string, string>> = { day: 'daily', week: 'weekly', month: 'monthly' };

/** Returns all troubles, ranked by affected keys: all, some, a group's, or one. */
export function troublesOf(model: Model): Trouble[] {
  const all = [
    gateway(model),
    storage(model),
    money(model),
    upstreams(model),
    spentGroups(model),
    spentKeys(model),
    rates(model),
  ].flat();
  // Failures precede warnings, and warnings precede forecasts.
  const rank = ({ tone, isForecast }: Trouble) => Number(tone === 'warn') + (isForecast ? 2 : 0);
  return all.toSorted((a, b) => rank(a) - rank(b));
}

/** A part of the line of troubles. */
export interface TroublePart {
  readonly line: Line;
  /** The trouble that a click opens. */
  readonly about?: TroubleKind;
}

/**
 * Returns up to three troubles and the number of further ones. If they do not fit, they are shortened; the first is
 * always shown. Empty without troubles. `chosen` is the one under the cursor.
 */
export function troubleParts(model: Model, chosen?: Trouble): readonly TroublePart[] {
  const troubles = troublesOf(model);
  if (troubles.length === 0) return [];
  const fits = (parts: readonly TroublePart[]) => lineWidth(parts.flatMap(({ line }) => line)) <= model.columns;
  const most = Math.min(MOST_TROUBLES, troubles.length);
  let parts = firstOf(troubles, most, { isBrief: false, chosen });
  for (let shown = most; shown > 0 && !fits(parts); shown--)
    parts = firstOf(troubles, shown, { isBrief: true, chosen });
  const hinted = [...parts, { line: [dim('   press ! to go there')] }];
  return fits(hinted) ? hinted : parts;
}

function firstOf(
  troubles: readonly Trouble[],
  shown: number,
  { isBrief, chosen }: { readonly isBrief: boolean; readonly chosen: Trouble | undefined },
): readonly TroublePart[] {
  const parts = troubles.slice(0, shown).map(({ about, text, brief = text, tone }, index): TroublePart => {
    const said = span(clean(isBrief ? brief : text), { tone, inverse: about === chosen?.about });
    return { line: [span(index === 0 ? ' ! ' : '   ! ', { tone, bold: true }), said], about };
  });
  const more = troubles.length - shown;
  return more === 0 ? parts : [...parts, { line: [dim(`   +${count(more)} more`)] }];
}

/** A lost gateway. It comes first: all requests fail, and no other trouble is known. */
function gateway(model: Model): Trouble[] {
  const { snapshot, shared, wasConnected, isConnecting, lostAtMs } = model;
  if (!wasConnected || isConnecting || snapshot !== undefined || shared !== undefined) return [];
  const when = lostAtMs === undefined ? '' : ` at ${localTime(lostAtMs).slice(-8)}${zoneLabel(lostAtMs)}`;
  const text = `GATEWAY stopped${when}; ${program()} serve starts it`;
  return [{ about: 'gateway', text, tone: 'bad', view: 'overview' }];
}

function storage({ snapshot }: Model): Trouble[] {
  const fault = snapshot?.storage_fault ?? null;
  return fault === null ? [] : [{ about: 'storage', text: `STORAGE ${fault}`, tone: 'bad', view: 'overview' }];
}

/** Credit that is used up. The free amount counts: the balance less the holds of requests in flight. */
function money(model: Model): Trouble[] {
  if (!model.stored.creditEnforced) return [];
  const account = accountOf(model);
  const { balanceNanos } = account;
  const free = freeOf(account);
  const refused = refusals(model, 'insufficient_credit');
  if (free > 0n && refused === 0) return ending(model, free);
  const left = balanceNanos > 0n ? `${usd(free > 0n ? free : 0n)} free` : 'used up';
  const whole = balanceNanos > 0n ? ` of ${usd(balanceNanos)} USD` : '';
  const refusing = refused === 0 ? '' : `, refusing ${count(refused)}/min`;
  const [text, brief] = [`CREDIT ${left}${whole}${refusing}`, `CREDIT ${left}${refusing}`];
  return [{ about: 'money', text, brief, tone: 'bad', view: 'overview' }];
}

/** Credit that ends within a day, at the faster of its paces. */
function ending(model: Model, free: Nanos): Trouble[] {
  const { recent, week } = creditPaces(model);
  const soonest = soonestEndMs({ recent, week });
  const tone = soonest === undefined ? undefined : toneOfEnd(soonest);
  if (soonest === undefined || tone === undefined || tone === 'good') return [];
  const brief = `CREDIT runs out in about ${roundedSpan(soonest)}`;
  return [
    { about: 'money', text: `${brief} (${usd(free)} USD free)`, brief, tone, isForecast: true, view: 'overview' },
  ];
}

function upstreams({ snapshot }: Model): Trouble[] {
  const failing = (snapshot?.upstreams ?? []).filter(
    // A half-open upstream has not answered its trial request yet.
    (upstream) => healthOf(upstream) === 'bad' || upstream.state === 'half_open',
  );
  const [first] = failing;
  if (first === undefined) return [];
  const names = failing.map(({ upstream }) => upstream);
  const [text, brief] = [`${listed(names, MOST_NAMES)} failing`, `${listed(names, 1)} failing`];
  return [{ about: 'upstreams', text, brief, tone: 'bad', view: 'overview', upstream: first.upstream }];
}

/** Groups that a spent budget stops, with all their keys. */
function spentGroups({ stored, nowMs }: Model): Trouble[] {
  const stopped = spentLevels(stored.groups, nowMs);
  const [first] = stopped;
  if (first === undefined) return [];
  const said = spentText(stopped, ({ record }) => `@${record.name}`, nowMs);
  return [{ about: 'groups', ...said, tone: 'bad', view: 'groups', groupId: first.record.id }];
}

function spentKeys({ stored, nowMs }: Model): Trouble[] {
  const stopped = spentLevels(stored.keys, nowMs);
  const [first] = stopped;
  if (first === undefined) return [];
  const said = spentText(stopped, ({ record }) => record.name, nowMs);
  return [{ about: 'keys', ...said, tone: 'bad', view: 'keys', keyId: first.record.id }];
}

function spentText<Level extends StoredKey | StoredGroup>(
  stopped: readonly Level[],
  nameOf: (level: Level) => string,
  nowMs: number,
): Pick<Trouble, 'text' | 'brief'> {
  const all = stopped.map(({ bounds }) => tightest(bounds, nowMs));
  const periods = new Set(all.map((bound) => bound?.period));
  const opens = all[0] && all.length === 1 ? outlookOf(all[0], nowMs)?.text : undefined;
  const verb = stopped.length === 1 ? 'has' : 'have';
  const [period = ''] = periods;
  const budget = `${ADJECTIVES[period] ?? period} budget`;
  const what = periods.size > 1 ? 'their budgets' : stopped.length === 1 ? `its ${budget}` : `their ${budget}s`;
  const names = stopped.map(nameOf);
  const text = `${listed(names, MOST_NAMES)} ${verb} spent ${what}${opens === undefined ? '' : `, ${opens}`}`;
  return { text, brief: `${listed(names, 1)} ${verb} spent ${what}` };
}

function rates(model: Model): Trouble[] {
  const refused = refusals(model, 'rate_limited');
  const text = `rate limits, refusing ${count(refused)}/min`;
  return refused < MANY_REFUSALS ? [] : [{ about: 'rates', text, tone: 'warn', view: 'live' }];
}

/** Returns the requests refused with this code in the last minute. */
function refusals({ seconds, nowMs }: Model, code: string): number {
  const fromS = nowMs / 1_000 - MINUTE_S;
  return seconds.reduce((sum, { at_s: atS, errors }) => sum + (atS >= fromS ? (errors[code] ?? 0) : 0), 0);
}

function listed(names: readonly string[], most: number): string {
  const rest = names.length - most;
  return `${names.slice(0, most).join(', ')}${rest > 0 ? ` and ${count(rest)} more` : ''}`;
}
