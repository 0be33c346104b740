/**
 * The terms of keys, groups and end users: what they may do and spend. Each is described once, and of that are made the
 * options of commands, their JSON, the forms of the dashboard, what it undoes, and the commands that it shows. Pure.
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

/** One term: how it is asked for, read and written. `Said` is what its option says, each time that it is given. */
export interface Term<Value, Said = unknown> {
  /** The name of its option. */
  readonly option: string;
  /** What the option takes where a key is created, and where limits are changed: a value, then the words that take it away. */
  readonly takes: { readonly create: string; readonly change: string };
  readonly help: string;
  /** What holds for a new key without it, as the help says it. */
  readonly otherwise: string;
  /** Of its field in a form; the hint says what an empty one means. */
  readonly label: string;
  readonly hint: string;
  /** Whether its option can be repeated. In a field of a form there are blanks between then. */
  readonly isList: boolean;
  /** The word that takes it away from a key that has it; undefined if none does. */
  readonly none: string | undefined;
  /** Reads what the option is given once: of a list, also the word that takes it away. */
  reader(nowMs: number): Reader<Said>;
  /** What a key has of it afterwards. */
  after(before: Value, said: readonly Said[]): Reading<Value>;
  /** What its option is given, each time, for a key that is to have it: exact. */
  words(value: Value): readonly string[];
}

/** Of a term with one value, which is null where the key has none of its own. */
function single<Value extends number | bigint>(
  described: Omit<Term<Value>, 'isList' | 'reader' | 'after' | 'words'>,
  reader: (nowMs: number) => Reader<Value>,
  text: (value: Value) => string,
): Term<Value | null, Value | string> {
  return {
    ...described,
    isList: false,
    reader,
    after: (before, said) => {
      const last = said.at(-1);
      return { ok: true, value: last === undefined ? before : typeof last === 'string' ? null : last };
    },
    words: (value) => (value === null ? [] : [text(value)]),
  };
}

/** A limit that the tier has as well, for keys that have none of their own. */
export interface TierTerm extends Term<number | null> {
  /** Beside its figure, where there is little room. */
  readonly brief: string;
  readonly unit: string;
  /** In a table that is too narrow the highest rank goes first. */
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

/** In the order in which they are asked for and shown. */
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
  after: (before, said) => ({
    ok: true,
    value: said.length === 0 ? before : [...new Set([...(before ?? []), ...said])],
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

/** All terms of a key. The compiler asks for each. */
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

/** What a record has, described field by field. */
export type Terms<Values> = { readonly [Name in keyof Values]: Term<Values[Name]> };

/** The same limit where there is no tier. */
function withoutTier(term: TierTerm): Term<number | null> {
  const takes = { create: 'n', change: 'n|none' };
  return { ...term, takes, otherwise: 'none', hint: 'no limit', none: 'none' };
}

/** Of a level that has no tier: a group, or an end user. */
export const LEVEL_TERMS: Terms<LevelTerms> = {
  rpm: withoutTier(TIER_TERMS.rpm),
  tpm: withoutTier(TIER_TERMS.tpm),
  concurrency: withoutTier(TIER_TERMS.concurrency),
  spendLimitNanos: SPEND_LIMIT,
  budgets: BUDGETS,
};

/** What is set of a group where it is created. */
export type GroupTerms = LevelTerms & Pick<KeyTerms, 'allowlist'>;
export const GROUP_TERMS: Terms<GroupTerms> = { ...LEVEL_TERMS, allowlist: ALLOWLIST };

/** What each end user of a key or a group has, as options beside its own. */
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

/** The terms of keys, as levels without a tier have them, and as each end user of a key or a group has them. */
const TERMS_OF: Readonly<Record<TermsOf, { readonly [Name in keyof KeyTerms]: Term<KeyTerms[Name]> }>> = {
  key: TERMS,
  level: { ...TERMS, ...LEVEL_TERMS },
  user: { ...TERMS, ...USER_TERMS },
};
export type TermsOf = 'key' | 'level' | 'user';

export type TermName = keyof KeyTerms;
/** What a key may do, but for the models that it may call: what is changed together. */
export type LimitTerms = Pick<KeyTerms, LimitName>;
type LimitName = Exclude<TermName, 'allowlist'>;
/** What a change names of them: the others stay as they are. */
export type SomeLimits = Partial<LimitTerms>;

export const TERM_NAMES = Object.keys(TERMS) as readonly TermName[];
export const TIER_NAMES = Object.keys(TIER_TERMS) as readonly (keyof typeof TIER_TERMS)[];
export const LIMIT_NAMES = TERM_NAMES.filter((name) => name !== 'allowlist');
/** Those that groups and end users have as well. */
export const LEVEL_NAMES = Object.keys(LEVEL_TERMS) as readonly (keyof LevelTerms)[];

/** The terms of a key without the rest of its record. */
export function termsOf(key: KeyTerms): KeyTerms {
  return picked(TERM_NAMES, key) as KeyTerms;
}

function picked<Name extends TermName>(names: readonly Name[], key: Pick<KeyTerms, Name>): Partial<KeyTerms> {
  return Object.fromEntries(names.map((name) => [name, key[name]]));
}

/** Reads one use of a term's option, and the word that takes it away where it has one. */
function readerOf(name: TermName, nowMs: number, of: TermsOf): Reader<unknown> {
  const { none, isList, reader } = TERMS_OF[of][name];
  return none === undefined || isList ? reader(nowMs) : keywordOr(none, reader(nowMs));
}

/** Reads the field of a form: an empty one means none. */
export function readTerm<Name extends TermName>(
  name: Name,
  text: string,
  nowMs: number,
  of: TermsOf = 'key',
): Reading<KeyTerms[Name]> {
  const words = TERMS[name].isList ? text.split(/\s+/) : [text];
  const said: unknown[] = [];
  for (const word of words.filter((each) => each !== '')) {
    const reading = readerOf(name, nowMs, of)(word);
    if (!reading.ok) return reading;
    said.push(reading.value);
  }
  return TERMS[name].after(NO_TERMS[name], said);
}

function wordsOf<Name extends TermName>(name: Name, terms: Pick<KeyTerms, Name>): readonly string[] {
  return TERMS[name].words(terms[name]);
}

/** What the field of a form shows. */
export function termText<Name extends TermName>(name: Name, terms: Pick<KeyTerms, Name>): string {
  return wordsOf(name, terms).join(' ');
}

/** Those of the limits that a key does not have already. */
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

/** What to type for a new key with these terms. */
export function createOptions(terms: KeyTerms): readonly string[] {
  return TERM_NAMES.flatMap((name) => asOptions(name, wordsOf(name, terms), 'key'));
}

/** What to type to change these limits of a key that had those before; undefined if nobody knows. */
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
  // What a list has already stays, unless all of it is taken away first.
  const old = before && wordsOf(name, before);
  const added = words.filter((word) => !old?.includes(word));
  const isOnlyMore = added.length > 0 && old?.every((word) => words.includes(word));
  return isOnlyMore ? added : [none, ...words];
}

function asOptions(name: TermName, words: readonly string[], of: TermsOf): readonly string[] {
  return words.flatMap((word) => [`--${TERMS_OF[of][name].option}`, word]);
}

/** The terms of a key as commands print them in JSON: the limits in force, and what is spent of budgets. */
export function termsJson(terms: KeyTerms, tier: Limits, spends: readonly BudgetSpend[]) {
  const { expiresAtMs, allowlist } = terms;
  return {
    ...levelJson(terms, spends, tier),
    expires_at: expiresAtMs === null ? null : isoTime(expiresAtMs),
    allowlist,
  };
}

/** Of a level: a limit that neither it nor a tier has is null. */
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

/** What each end user may do; null where nothing is set for them. */
export function userLimitsJson(limits: UserLimits | null) {
  if (limits === null || isUnlimited(limits)) return null;
  return { ...ownLimitsJson(limits), required: limits.required };
}

/** Limits without what is spent of them. */
export function ownLimitsJson(terms: LevelTerms) {
  const { spendLimitNanos, budgets } = terms;
  return {
    ...Object.fromEntries(TIER_NAMES.map((name) => [name, terms[name]])),
    spend_limit_usd: spendLimitNanos === null ? null : formatUsd(spendLimitNanos),
    budgets: budgets.map(({ period, limitNanos }) => ({ period, limit_usd: formatUsd(limitNanos) })),
  };
}

/** `60 requests per minute`, `1.00 USD per day`: those that are set. */
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

/** The same of what holds for each end user. */
export function userLimitTexts(limits: UserLimits, money: (nanos: Nanos) => string): readonly string[] {
  return [...limitTexts(limits, money), ...(limits.required ? ['must be named'] : [])];
}
