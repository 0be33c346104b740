/**
 * The terms of keys, groups and end users: limits, budgets, expiry and allowlist. Each term is described once; command
 * options, JSON, forms of the dashboard, undo and shown commands are derived from it. Pure.
 */
import { type Budget, type BudgetSpend, budgetJson } from '../core/budgets.ts';
import { isoTime } from '../core/clock.ts';
import { type Limits, MAX_CONCURRENCY, MAX_RPM, MAX_TPM } from '../core/limits.ts';
import { formatUsd, type Nanos } from '../core/money.ts';
import { type KeyTerms, type LevelTerms, NO_TERMS, type UserLimits } from '../state/keys.ts';
import { isUnlimited } from '../state/levels.ts';
import { type BudgetWord, budgetsAfter, perPeriod, readBudget, readExpiry } from './budgets.ts';
import { count, countOf } from './format.ts';
import { keywordOr, type Reader, type Reading, readAmount, readCount, readModelId } from './input.ts';

/** One term: its option, its help, and how it is read and written. `Given` is the value of one use of the option. */
export interface Term<Value, Given = unknown> {
  /** The name of the option. */
  readonly option: string;
  /** The placeholder of the option's value, for new keys and for changes, which also accept a word that removes the term. */
  readonly takes: { readonly create: string; readonly change: string };
  readonly help: string;
  /** The default for a new key, as the help states it. */
  readonly otherwise: string;
  /** The label and the hint of the field in a form. The hint describes an empty field. */
  readonly label: string;
  readonly hint: string;
  /** Whether the option may be repeated. A form then separates the values with blanks. */
  readonly isList: boolean;
  /** The word that removes the term from a key; undefined if it cannot be removed. */
  readonly none: string | undefined;
  /** Reads one use of the option. The reader of a list also accepts the word that removes all its items. */
  reader(nowMs: number): Reader<Given>;
  /** Applies all uses of the option to the value before. */
  after(before: Value, given: readonly Given[]): Reading<Value>;
  /** The exact values of the option, one per use, that produce this value. */
  words(value: Value): readonly string[];
}

/** A term with one value; null if it is unset. */
function single<Value extends number | bigint>(
  described: Omit<Term<Value>, 'isList' | 'reader' | 'after' | 'words'>,
  reader: (nowMs: number) => Reader<Value>,
  text: (value: Value) => string,
): Term<Value | null, Value | string> {
  return {
    ...described,
    isList: false,
    reader,
    after: (before, given) => {
      const last = given.at(-1);
      return { ok: true, value: last === undefined ? before : typeof last === 'string' ? null : last };
    },
    words: (value) => (value === null ? [] : [text(value)]),
  };
}

/** A limit for which the tier has a default. */
export interface TierTerm extends Term<number | null> {
  /** A short name next to the figure. */
  readonly brief: string;
  readonly unit: string;
  /** In a narrow table, the highest rank is dropped first. */
  readonly rank: number;
}

function ofTier(
  most: number,
  described: Pick<TierTerm, 'option' | 'label' | 'help' | 'brief' | 'unit' | 'rank'>,
): TierTerm {
  const texts = {
    // Groups have no tier.
    takes: { create: 'n', change: 'n|default|none' },
    otherwise: 'the tier’s',
    hint: 'tier default',
    none: 'default',
  };
  return { ...described, ...single<number>({ ...described, ...texts }, () => readCount(most), String) };
}

/** In the order of helps, forms and tables. */
export const TIER_TERMS = {
  rpm: ofTier(MAX_RPM, {
    option: 'rpm',
    label: 'Requests per minute',
    help: 'requests per minute',
    brief: 'requests',
    unit: ' per minute',
    rank: 3,
  }),
  tpm: ofTier(MAX_TPM, {
    option: 'tpm',
    label: 'Tokens per minute',
    help: 'tokens per minute, input and output',
    brief: 'tokens',
    unit: ' per minute',
    rank: 8,
  }),
  concurrency: ofTier(MAX_CONCURRENCY, {
    option: 'concurrency',
    label: 'Most in flight',
    help: 'requests in flight',
    brief: 'at most',
    unit: ' in flight',
    rank: 8,
  }),
} satisfies Readonly<Record<keyof KeyTerms & keyof Limits, TierTerm>>;

const BUDGETS: Term<readonly Budget[], BudgetWord> = {
  option: 'budget',
  takes: { create: 'period=usd', change: 'period=usd' },
  help: 'spend at most this in a period, such as day=5; repeat for more',
  otherwise: 'none',
  label: 'Budgets in USD',
  hint: 'none; such as day=5 week=20 total=99 24h=2',
  isList: true,
  none: 'none',
  reader: () => readBudget,
  after: budgetsAfter,
  words: (budgets) => budgets.map(({ period, limitNanos }) => `${period}=${formatUsd(limitNanos)}`),
};

const ALLOWLIST: Term<readonly string[] | null, string> = {
  option: 'allow',
  takes: { create: 'model', change: 'model' },
  help: 'allow this model; repeat for more',
  otherwise: 'all models',
  label: 'Models',
  hint: 'every model',
  isList: true,
  none: undefined,
  reader: () => readModelId,
  after: (before, given) => ({
    ok: true,
    value: given.length === 0 ? before : [...new Set([...(before ?? []), ...given])],
  }),
  words: (models) => models ?? [],
};

const SPEND_LIMIT = single<Nanos>(
  {
    option: 'spend-limit',
    takes: { create: 'usd', change: 'usd|none' },
    help: 'spend limit per calendar month, UTC',
    otherwise: 'none',
    label: 'USD per month',
    hint: 'no limit',
    none: 'none',
  },
  () => readAmount,
  formatUsd,
);

/** All terms of a key. The type requires an entry for each field. */
export const TERMS: { readonly [Name in keyof KeyTerms]: Term<KeyTerms[Name]> } = {
  ...TIER_TERMS,
  spendLimitNanos: SPEND_LIMIT,
  budgets: BUDGETS,
  expiresAtMs: single<number>(
    {
      option: 'expires',
      takes: { create: 'time|never', change: 'time|never' },
      help: 'refuse the key from then on: 30d from now, a date or a time',
      otherwise: 'never',
      label: 'Expires',
      hint: 'never; such as 30d or 2027-01-31',
      none: 'never',
    },
    readExpiry,
    (wallMs) => isoTime(wallMs).replace('.000Z', 'Z'),
  ),
  allowlist: ALLOWLIST,
};

/** A description for each field of a record. */
export type Terms<Values> = { readonly [Name in keyof Values]: Term<Values[Name]> };

/** The same limit for a level without a tier. */
function withoutTier(term: TierTerm): Term<number | null> {
  const takes = { create: 'n', change: 'n|none' };
  return { ...term, takes, otherwise: 'none', hint: 'no limit', none: 'none' };
}

/** The terms of groups and end users, which have no tier. */
export const LEVEL_TERMS: Terms<LevelTerms> = {
  rpm: withoutTier(TIER_TERMS.rpm),
  tpm: withoutTier(TIER_TERMS.tpm),
  concurrency: withoutTier(TIER_TERMS.concurrency),
  spendLimitNanos: SPEND_LIMIT,
  budgets: BUDGETS,
};

/** The terms of a new group. */
export type GroupTerms = LevelTerms & Pick<KeyTerms, 'allowlist'>;
export const GROUP_TERMS: Terms<GroupTerms> = { ...LEVEL_TERMS, allowlist: ALLOWLIST };

/** The limits of each end user of a key or a group, as options of that key or group. */
export const USER_TERMS: Terms<LevelTerms> = {
  rpm: ofEachUser(LEVEL_TERMS.rpm),
  tpm: ofEachUser(LEVEL_TERMS.tpm),
  concurrency: ofEachUser(LEVEL_TERMS.concurrency),
  spendLimitNanos: ofEachUser(LEVEL_TERMS.spendLimitNanos),
  budgets: ofEachUser(LEVEL_TERMS.budgets),
};

function ofEachUser<Value>(term: Term<Value>): Term<Value> {
  return {
    ...term,
    option: `user-${term.option}`,
    help: `of each end user: ${term.help}`,
    label: `${term.label}, each end user`,
  };
}

/** The descriptions of a key's terms for a key, for a level without a tier, and for each end user of either. */
const TERMS_OF: Readonly<Record<TermsOf, { readonly [Name in keyof KeyTerms]: Term<KeyTerms[Name]> }>> = {
  key: TERMS,
  level: { ...TERMS, ...LEVEL_TERMS },
  user: { ...TERMS, ...USER_TERMS },
};
export type TermsOf = 'key' | 'level' | 'user';

export type TermName = keyof KeyTerms;
/** All terms of a key except its allowlist, which other commands change. */
export type LimitTerms = Pick<KeyTerms, LimitName>;
type LimitName = Exclude<TermName, 'allowlist'>;
/** The terms that a change sets; the others stay. */
export type SomeLimits = Partial<LimitTerms>;

export const TERM_NAMES = Object.keys(TERMS) as readonly TermName[];
export const TIER_NAMES = Object.keys(TIER_TERMS) as readonly (keyof typeof TIER_TERMS)[];
export const LIMIT_NAMES = TERM_NAMES.filter((name) => name !== 'allowlist');
/** The names of the terms that groups and end users have. */
export const LEVEL_NAMES = Object.keys(LEVEL_TERMS) as readonly (keyof LevelTerms)[];

/** The terms of a key, without the other fields of its record. */
export function termsOf(key: KeyTerms): KeyTerms {
  return picked(TERM_NAMES, key) as KeyTerms;
}

function picked<Name extends TermName>(names: readonly Name[], key: Pick<KeyTerms, Name>): Partial<KeyTerms> {
  return Object.fromEntries(names.map((name) => [name, key[name]]));
}

/** Reads one use of a term's option, or the word that removes the term. */
function readerOf(name: TermName, nowMs: number, of: TermsOf): Reader<unknown> {
  const { none, isList, reader } = TERMS_OF[of][name];
  return none === undefined || isList ? reader(nowMs) : keywordOr(none, reader(nowMs));
}

/** Reads the field of a form. An empty field means no value. */
export function readTerm<Name extends TermName>(
  name: Name,
  text: string,
  nowMs: number,
  of: TermsOf = 'key',
): Reading<KeyTerms[Name]> {
  const words = TERMS[name].isList ? text.split(/\s+/) : [text];
  const given: unknown[] = [];
  for (const word of words.filter((each) => each !== '')) {
    const reading = readerOf(name, nowMs, of)(word);
    if (!reading.ok) return reading;
    given.push(reading.value);
  }
  return TERMS[name].after(NO_TERMS[name], given);
}

function wordsOf<Name extends TermName>(name: Name, terms: Pick<KeyTerms, Name>): readonly string[] {
  return TERMS[name].words(terms[name]);
}

/** The text of a form field. */
export function termText<Name extends TermName>(name: Name, terms: Pick<KeyTerms, Name>): string {
  return wordsOf(name, terms).join(' ');
}

/** The limits that a key does not have yet. */
export function limitsMissing(limits: SomeLimits, key: LimitTerms): SomeLimits {
  const wanted = { ...key, ...limits };
  return picked(
    LIMIT_NAMES.filter((name) => termText(name, wanted) !== termText(name, key)),
    wanted,
  );
}

export function hasLimits(key: LimitTerms, limits: SomeLimits): boolean {
  return Object.keys(limitsMissing(limits, key)).length === 0;
}

/** The options that create a key with these terms. */
export function createOptions(terms: KeyTerms): readonly string[] {
  return TERM_NAMES.flatMap((name) => asOptions(name, wordsOf(name, terms), 'key'));
}

/** The options that change a key's limits to these. Without `before`, lists are replaced as a whole. */
export function changeOptions(
  limits: SomeLimits,
  before: LimitTerms | undefined,
  of: TermsOf = 'key',
): readonly string[] {
  const named = LIMIT_NAMES.filter((name) => name in limits);
  return named.flatMap((name) => asOptions(name, changeWords(name, { ...NO_TERMS, ...limits }, before, of), of));
}

function changeWords(
  name: LimitName,
  limits: LimitTerms,
  before: LimitTerms | undefined,
  of: TermsOf,
): readonly string[] {
  const { isList, none = '' } = TERMS_OF[of][name];
  const words = wordsOf(name, limits);
  if (!isList) return words.length === 0 ? [none] : words;
  // Items are only added to a list, unless the change removes some: then all are removed first.
  const old = before && wordsOf(name, before);
  const added = words.filter((word) => !old?.includes(word));
  const isOnlyMore = added.length > 0 && old?.every((word) => words.includes(word));
  return isOnlyMore ? added : [none, ...words];
}

function asOptions(name: TermName, words: readonly string[], of: TermsOf): readonly string[] {
  return words.flatMap((word) => [`--${TERMS_OF[of][name].option}`, word]);
}

/** The JSON of a key's terms: limits in force, budgets with their spent amounts, expiry and allowlist. */
export function termsJson(terms: KeyTerms, tier: Limits, spends: readonly BudgetSpend[]) {
  const { expiresAtMs, allowlist } = terms;
  return {
    ...levelJson(terms, spends, tier),
    expires_at: expiresAtMs === null ? null : isoTime(expiresAtMs),
    allowlist,
  };
}

/** The JSON of a level's limits. A limit is null if neither the level nor a tier sets it. */
export function levelJson(
  terms: Omit<LevelTerms, 'budgets'>,
  spends: readonly BudgetSpend[],
  tier?: Pick<Limits, 'rpm' | 'tpm' | 'concurrency'>,
) {
  return {
    limits: Object.fromEntries(TIER_NAMES.map((name) => [name, terms[name] ?? tier?.[name] ?? null])),
    spend_limit_usd: terms.spendLimitNanos === null ? null : formatUsd(terms.spendLimitNanos),
    budgets: spends.map(budgetJson),
  };
}

/** The JSON of the limits for each end user; null without any. */
export function userLimitsJson(limits: UserLimits | null) {
  if (limits === null || isUnlimited(limits)) return null;
  return { ...ownLimitsJson(limits), required: limits.required };
}

/** The JSON of limits without their spent amounts. */
export function ownLimitsJson(terms: LevelTerms) {
  const { spendLimitNanos, budgets } = terms;
  return {
    ...Object.fromEntries(TIER_NAMES.map((name) => [name, terms[name]])),
    spend_limit_usd: spendLimitNanos === null ? null : formatUsd(spendLimitNanos),
    budgets: budgets.map(({ period, limitNanos }) => ({ period, limit_usd: formatUsd(limitNanos) })),
  };
}

/** The set limits: `60 requests per minute`, `1.00 USD per day`. */
export function limitTexts(terms: LevelTerms, money: (nanos: Nanos) => string): readonly string[] {
  const { spendLimitNanos, budgets } = terms;
  return [
    ...TIER_NAMES.flatMap((name) => {
      const { brief, unit } = TIER_TERMS[name];
      const limit = terms[name];
      if (limit === null) return [];
      return [
        name === 'concurrency'
          ? `${brief} ${count(limit)}${unit}`
          : `${countOf(limit, brief.replace(/s$/, ''))}${unit}`,
      ];
    }),
    ...(spendLimitNanos === null ? [] : [`${money(spendLimitNanos)} USD per month`]),
    ...budgets.map(({ period, limitNanos }) => `${money(limitNanos)} USD ${perPeriod(period)}`),
  ];
}

/** The limits for each end user. */
export function userLimitTexts(limits: UserLimits, money: (nanos: Nanos) => string): readonly string[] {
  return [...limitTexts(limits, money), ...(limits.required ? ['must be named'] : [])];
}
