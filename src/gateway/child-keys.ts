/** Creates, reads and deletes the child keys of a key in the state. Runs in a helper thread, on behalf of HTTP requests. */
import { mintKey } from '../core/api-key.ts';
import { type Budget, isSamePeriod } from '../core/budgets.ts';
import { utcMonth } from '../core/clock.ts';
import { isObject } from '../core/json.ts';
import type { Limits } from '../core/limits.ts';
import { formatUsd } from '../core/money.ts';
import { printableName } from '../core/printable.ts';
import { budgetsAfter, readBudget, readExpiry } from '../operator/budgets.ts';
import { type Reader, type Reading, readAmount, readKeyName, readModelId } from '../operator/input.ts';
import { keyJson } from '../operator/key-json.ts';
import { TIER_NAMES } from '../operator/terms.ts';
import type { ChildAnswer, ChildQuestion, ChildRefusal } from '../proxy/child-keys.ts';
import {
  childName,
  childPrefixes,
  type KeyChange,
  type KeyRecord,
  type KeyTerms,
  limitsInForce,
  MOST_CREATED_A_DAY,
} from '../state/keys.ts';
import type { OpenState } from '../state/state.ts';

/** Maximum number of child keys per key, so that its users cannot fill the state. */
const MOST_CHILDREN = 1_000;
const FIELDS = ['name', ...TIER_NAMES, 'spend_limit_usd', 'budgets', 'expires_in', 'allowlist', 'cap_output'];

const TOO_MANY_TODAY = `a key creates at most ${MOST_CREATED_A_DAY} keys in a day (UTC), deleted ones included; wait until tomorrow`;
const NAME_TAKEN = 'name: this key has made one of this name already';

type Asked = Readonly<Record<string, unknown>>;
type State = Pick<OpenState, 'keys' | 'groups' | 'usage' | 'levels' | 'requests'>;

/** Maximum number of truncated responses counted at the deletion of a key. */
const MOST_CUT = 1_000;

/** Returns the reason for a refusal; undefined if the request would be accepted. */
export async function checkChild(
  state: State,
  parentId: string,
  question: ChildQuestion,
  tier: Limits,
): Promise<ChildRefusal | undefined> {
  const parent = await parentOf(state, parentId);
  if (parent === undefined) return { kind: 'may_not' };
  if (question.kind === 'list') return undefined;
  const children = await childrenOf(state, parentId);
  if (question.kind === 'delete')
    return children.some(({ id }) => id === question.id) ? undefined : { kind: 'no_such_key' };
  const reading = newChild(question.fields, parent, children, tier);
  if (!reading.ok) return { kind: 'invalid', problem: reading.expected };
  const isTooMany = await state.keys.hasCreatedMost(parentId, Date.now());
  return isTooMany ? { kind: 'invalid', problem: TOO_MANY_TODAY } : undefined;
}

export function answerChild(
  state: State,
  parentId: string,
  question: ChildQuestion,
  tier: Limits,
): Promise<ChildAnswer> {
  switch (question.kind) {
    case 'create':
      return createChild(state, parentId, question.fields, tier);
    case 'list':
      return listChildren(state, parentId, tier);
    case 'delete':
      return deleteChild(state, parentId, question.id, tier);
  }
}

/** Creates a child key. Its limits must not exceed the limits of the parent. */
async function createChild(state: State, parentId: string, asked: Asked, tier: Limits): Promise<ChildAnswer> {
  const parent = await parentOf(state, parentId);
  if (parent === undefined) return { kind: 'may_not' };
  const reading = newChild(asked, parent, await childrenOf(state, parentId), tier);
  if (!reading.ok) return { kind: 'invalid', problem: reading.expected };
  const secret = mintKey();
  const change = await insert(state, parent, secret, reading.value, Date.now());
  if (change.kind === 'no_such_key') return { kind: 'may_not' };
  if (change.kind === 'too_many_today') return { kind: 'invalid', problem: TOO_MANY_TODAY };
  if (change.kind !== 'done') return { kind: 'invalid', problem: NAME_TAKEN };
  return { kind: 'done', json: { ...(await shown(change.key, parent, state, tier)), key: secret } };
}

/** Validates a new key against its parent and its siblings. */
function newChild(asked: Asked, parent: KeyRecord, children: readonly KeyRecord[], tier: Limits): Reading<ChildTerms> {
  const reading = termsOf(asked, parent, tier, Date.now());
  if (!reading.ok) return reading;
  if (children.length >= MOST_CHILDREN)
    return { ok: false, expected: `a key has at most ${MOST_CHILDREN} keys under it; delete some first` };
  const isTaken = children.some((child) => childName(child, parent) === reading.value.name);
  return isTaken ? { ok: false, expected: NAME_TAKEN } : reading;
}

/**
 * Returns `name_taken` only for a sibling's name, so that a client cannot probe the names of foreign keys. Key names are unique
 * in the state: a child is stored with its parent's name as a prefix, or with the parent's id if that name is taken, too.
 */
async function insert(
  state: State,
  parent: KeyRecord,
  secret: string,
  terms: ChildTerms,
  nowMs: number,
): Promise<KeyChange> {
  for (const prefix of childPrefixes(parent)) {
    const children = await childrenOf(state, parent.id);
    if (children.some((child) => childName(child, parent) === terms.name)) break;
    const named = { ...terms, name: `${prefix}${terms.name}`, parentId: parent.id };
    const change = await state.keys.create(secret, named, nowMs);
    if (change.kind !== 'name_taken') return change;
  }
  return { kind: 'name_taken' };
}

async function listChildren(state: State, parentId: string, tier: Limits): Promise<ChildAnswer> {
  const parent = await parentOf(state, parentId);
  if (parent === undefined) return { kind: 'may_not' };
  const children = await childrenOf(state, parentId);
  const data = await Promise.all(children.map((child) => shown(child, parent, state, tier)));
  return { kind: 'done', json: { object: 'list', data } };
}

async function deleteChild(state: State, parentId: string, id: string, tier: Limits): Promise<ChildAnswer> {
  const parent = await parentOf(state, parentId);
  if (parent === undefined) return { kind: 'may_not' };
  const child = (await childrenOf(state, parentId)).find((each) => each.id === id);
  if (child === undefined) return { kind: 'no_such_key' };
  const change = await state.keys.setState(child.id, 'deleted');
  if (change.kind !== 'done') return { kind: 'no_such_key' };
  const { key } = change;
  const json = await shown(key, parent, state, tier);
  return { kind: 'done', json: key.isLeashed ? { ...json, cut_answers: await cutAnswersOf(key, state) } : json };
}

/** Counts the responses truncated by the key's output limit. The user of the key cannot read the journal. */
async function cutAnswersOf({ id: keyId }: KeyRecord, { requests }: State): Promise<number> {
  const query = { keyId, sinceMs: undefined, errors: false, reason: 'leash_maximum', limit: MOST_CUT } as const;
  return (await requests.list(query)).length;
}

async function parentOf({ keys }: State, id: string): Promise<KeyRecord | undefined> {
  const key = await keys.find(id);
  return key?.mayCreate === true ? key : undefined;
}

async function childrenOf({ keys }: State, parentId: string): Promise<readonly KeyRecord[]> {
  return keys.list({ withDeleted: false, parentId });
}

async function shown(key: KeyRecord, parent: KeyRecord, { usage, levels }: State, tier: Limits) {
  const nowMs = Date.now();
  const month = await usage.monthOf(key.id, utcMonth(nowMs));
  const spends = (await levels.spentBy([key], nowMs)).get(key.id) ?? [];
  return keyJson({ ...key, name: childName(key, parent) }, { month, spends, group: null }, tier);
}

interface ChildTerms extends KeyTerms {
  readonly name: string;
  /** Whether the output of its requests is capped. */
  readonly isLeashed: boolean;
}

/** Parses the requested terms. Fails with an invalid field, or with a limit above the parent's. */
function termsOf(asked: Asked, parent: KeyRecord, tier: Limits, nowMs: number): Reading<ChildTerms> {
  const fields = new FieldReader(asked);
  const limits = limitsInForce(parent, tier);
  const child: ChildTerms = {
    name: fields.read('name', readKeyName) ?? '',
    rpm: fields.count('rpm', limits.rpm) ?? parent.rpm,
    tpm: fields.count('tpm', limits.tpm) ?? parent.tpm,
    concurrency: fields.count('concurrency', limits.concurrency) ?? parent.concurrency,
    spendLimitNanos: fields.amount('spend_limit_usd', readAmount) ?? null,
    budgets: fields.budgets(),
    expiresAtMs: fields.read('expires_in', readExpiry(nowMs)) ?? parent.expiresAtMs,
    allowlist: fields.models(),
    isLeashed: fields.flag('cap_output') || parent.isLeashed,
  };
  const expected = fields.problem ?? looserThan(parent, child);
  return expected === undefined ? { ok: true, value: child } : { ok: false, expected };
}

/** Reads the fields of a request for a key. */
class FieldReader {
  /** The first problem found. */
  problem: string | undefined;
  readonly #asked: Asked;

  constructor(asked: Asked) {
    this.#asked = asked;
    const unknown = Object.keys(asked).find((field) => !FIELDS.includes(field));
    if (unknown !== undefined) this.#fault(printableName(unknown), `expected one of ${FIELDS.join(', ')}`);
    if ((asked.name ?? null) === null) this.#fault('name', 'expected a name for the key');
  }

  /** Returns undefined for a missing or invalid field. */
  read<T>(field: string, reader: Reader<T>, value: unknown = this.#asked[field]): T | undefined {
    if (value === undefined || value === null) return undefined;
    const reading = typeof value === 'string' ? reader(value) : NO_TEXT;
    if (reading.ok) return reading.value;
    this.#fault(field, reading.expected);
    return undefined;
  }

  /** Reads an integer up to the parent's limit. */
  count(field: string, limit: number): number | undefined {
    const value = this.#asked[field] ?? undefined;
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= limit) return value;
    this.#fault(field, `expected a whole number from 1 to ${limit}, the limit of this key`);
    return undefined;
  }

  /** Reads an amount in USD, which must be a string: a JSON number would already be rounded. */
  amount<T>(field: string, reader: Reader<T>, value: unknown = this.#asked[field]): T | undefined {
    if (typeof value !== 'number') return this.read(field, reader, value);
    this.#fault(field, 'expected USD as a string, such as "1.50"');
    return undefined;
  }

  budgets(): readonly Budget[] {
    const { budgets = {} } = this.#asked;
    if (!isObject(budgets)) this.#fault('budgets', BUDGETS_FORM);
    const found = Object.entries(isObject(budgets) ? budgets : {}).flatMap(([period, amount]) => {
      const word = typeof amount === 'string' ? readBudget(`${period}=${amount}`) : undefined;
      if (word?.ok === true && word.value.kind === 'set') return [word.value];
      this.#fault('budgets', BUDGETS_FORM);
      return [];
    });
    const reading = budgetsAfter([], found);
    if (reading.ok) return reading.value;
    this.#fault('budgets', reading.expected);
    return [];
  }

  flag(field: string): boolean {
    const value = this.#asked[field] ?? false;
    if (typeof value !== 'boolean') this.#fault(field, 'expected true or false');
    return value === true;
  }

  models(): readonly string[] | null {
    const { allowlist = null } = this.#asked;
    if (allowlist === null) return null;
    if (!Array.isArray(allowlist)) this.#fault('allowlist', 'expected an array of models');
    const models: readonly unknown[] = Array.isArray(allowlist) ? allowlist : [];
    return models.map((model) => this.read('allowlist', readModelId, model ?? '') ?? '');
  }

  #fault(field: string, expected: string): void {
    this.problem ??= `${field}: ${expected}`;
  }
}

const BUDGETS_FORM =
  'expected amounts in USD as strings by their periods, such as {"day": "5", "24h": "2.50"}; ' +
  'a period is day, week, total, or a number of s, m, h or d (366 days at most)';

const NO_TEXT = { ok: false, expected: 'expected a string' } as const;

/** Describes the first term of a new key that exceeds its parent's; undefined if all are within. */
function looserThan(parent: KeyRecord, child: ChildTerms): string | undefined {
  if (parent.spendLimitNanos !== null && (child.spendLimitNanos ?? 0n) > parent.spendLimitNanos) {
    return `spend_limit_usd: expected at most ${formatUsd(parent.spendLimitNanos)}, the limit of this key`;
  }
  for (const { period, limitNanos } of child.budgets) {
    const outer = parent.budgets.find((budget) => isSamePeriod(budget, { period, limitNanos }));
    if (outer !== undefined && limitNanos > outer.limitNanos) {
      return `budgets: expected at most ${formatUsd(outer.limitNanos)} for ${period}, the budget of this key`;
    }
  }
  if (parent.expiresAtMs !== null && (child.expiresAtMs ?? Number.POSITIVE_INFINITY) > parent.expiresAtMs) {
    return 'expires_in: expected no later than this key expires';
  }
  const beyond = parent.allowlist && child.allowlist?.find((model) => !parent.allowlist?.includes(model));
  return beyond ? `allowlist: this key may not call ${beyond}` : undefined;
}
