/** What is wrong at the moment, the worst first: the line under the tabs, and where each of it is looked into. Pure. */
import { freeOf } from '../operator/forecast.ts';
import { count, usd } from '../operator/format.ts';
import { clean } from '../operator/text.ts';
import { dim, type Line, lineWidth, span } from './draw/line.ts';
import { healthOf } from './health.ts';
import type { Model, View } from './model.ts';
import { accountOf } from './select.ts';

export interface Trouble {
  readonly about: 'storage' | 'money' | 'upstreams' | 'keys' | 'rates';
  readonly text: string;
  /** The view that shows the cause. */
  readonly view: View;
  /** The key that it is about. */
  readonly keyId?: string;
  /** The upstream that it is about. */
  readonly upstream?: string;
}

/** As many as are read at a glance. */
export const MOST_TROUBLES = 3;
const MOST_NAMES = 2;
/** In a minute. Fewer refusals for rates are everyday. */
const MANY_REFUSALS = 30;
const MINUTE_S = 60;

/** All troubles, ranked: what stops everybody, what stops some, and what stops one key. */
export function troublesOf(model: Model): Trouble[] {
  return [storage(model), money(model), upstreams(model), spentKeys(model), rates(model)].flat();
}

/** At most three troubles, each whole; the first in any case. Empty if all is well. `chosen` is the one under the cursor. */
export function troubleLine(model: Model, chosen?: Trouble): Line {
  const line: Line[number][] = [];
  for (const [index, { about, text }] of troublesOf(model).slice(0, MOST_TROUBLES).entries()) {
    const said = span(clean(text), { inverse: about === chosen?.about });
    const next = [span(index === 0 ? ' ! ' : '   ! ', { tone: 'bad', bold: true }), said];
    if (index > 0 && lineWidth([...line, ...next]) > model.columns) break;
    line.push(...next);
  }
  return line.length === 0 ? [] : [...line, dim('   ! go there')];
}

function storage({ snapshot }: Model): Trouble[] {
  const fault = snapshot?.storage_fault ?? null;
  return fault === null ? [] : [{ about: 'storage', text: `STORAGE ${fault}`, view: 'overview' }];
}

/** What counts is what is free: the balance less what requests in flight hold. */
function money(model: Model): Trouble[] {
  if (!model.stored.creditEnforced) return [];
  const account = accountOf(model);
  const { balanceNanos } = account;
  const free = freeOf(account);
  const refused = refusals(model, 'insufficient_credit');
  if (free > 0n && refused === 0) return [];
  const left = balanceNanos > 0n ? `${usd(free > 0n ? free : 0n)} free of ${usd(balanceNanos)} USD` : 'no credit left';
  const refusing = refused === 0 ? '' : `, refusing ${count(refused)}/min`;
  return [{ about: 'money', text: `MONEY ${left}${refusing}`, view: 'overview' }];
}

function upstreams({ snapshot }: Model): Trouble[] {
  const failing = (snapshot?.upstreams ?? []).filter(
    // One that is tried again has not answered yet.
    (upstream) => healthOf(upstream) === 'bad' || upstream.state === 'half_open',
  );
  const [first] = failing;
  if (first === undefined) return [];
  const text = `${listed(failing.map(({ upstream }) => upstream))} failing`;
  return [{ about: 'upstreams', text, view: 'overview', upstream: first.upstream }];
}

/** Keys that reached their spend limit of this month. */
function spentKeys({ stored }: Model): Trouble[] {
  const spent = stored.keys.filter(
    ({ record: { state, spendLimitNanos }, month }) =>
      state === 'enabled' && spendLimitNanos !== null && month.costNanos >= spendLimitNanos,
  );
  const [first] = spent;
  if (first === undefined) return [];
  const names = listed(spent.map(({ record }) => record.name));
  const text = `${names} at ${spent.length === 1 ? 'its spend limit' : 'their spend limits'}`;
  return [{ about: 'keys', text, view: 'keys', keyId: first.record.id }];
}

function rates(model: Model): Trouble[] {
  const refused = refusals(model, 'rate_limited');
  const text = `rate limits, refusing ${count(refused)}/min`;
  return refused < MANY_REFUSALS ? [] : [{ about: 'rates', text, view: 'live' }];
}

/** Requests refused with this code in the last minute. */
function refusals({ seconds, nowMs }: Model, code: string): number {
  const fromS = nowMs / 1_000 - MINUTE_S;
  return seconds.reduce((sum, { at_s: atS, errors }) => sum + (atS >= fromS ? (errors[code] ?? 0) : 0), 0);
}

function listed(names: readonly string[]): string {
  const rest = names.length - MOST_NAMES;
  return `${names.slice(0, MOST_NAMES).join(', ')}${rest > 0 ? ` and ${count(rest)} more` : ''}`;
}
