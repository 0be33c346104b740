/** Keys that a key has made over HTTP, as the thread beside the ledger writes and reads them in the state. */
import { mintKey } from '../core/api-key.ts';
import { type Budget, isSamePeriod } from '../core/budgets.ts';
import { utcMonth } from '../core/clock.ts';
import { isObject } from '../core/json.ts';
import { type Limits, MAX_TPM } from '../core/limits.ts';
import { formatUsd } from '../core/money.ts';
import { printableName } from '../core/printable.ts';
import { budgetsAfter, readBudget, readExpiry } from '../operator/budgets.ts';
import { type Reader, type Reading, readAmount, readCount, readKeyName, readModelId } from '../operator/input.ts';
import { keyJson } from '../operator/key-json.ts';
import { TIER_NAMES } from '../operator/terms.ts';
import type { ChildAnswer } from '../proxy/child-keys.ts';
import { type KeyRecord, type KeyTerms, limitsInForce } from '../state/keys.ts';
import type { OpenState } from '../state/state.ts';

/** Whoever has a key that may make others cannot fill the state with them. */
const MOST_CHILDREN = 1_000;
const FIELDS = ['name', ...TIER_NAMES, 'spend_limit_usd', 'budgets', 'expires_in', 'allowlist', 'cap_output'];

type Asked = Readonly<Record<string, unknown>>;
type State = Pick<OpenState, 'keys' | 'groups' | 'usage' | 'budgets'>;

/** Makes a key under this one, with limits that are no looser. */
export async function createChild(state: State, parentId: string, asked: Asked, tier: Limits): Promise<ChildAnswer> {
  const parent = await parentOf(state, parentId);
  if (parent === undefined) return { kind: 'may_not' };
  const nowMs = Date.now();
  const reading = termsOf(asked, parent, tier, nowMs);
  if (!reading.ok) return { kind: 'invalid', problem: reading.expected };
  if ((await childrenOf(state, parentId)).length >= MOST_CHILDREN) {
    return { kind: 'invalid', problem: `a key has at most ${MOST_CHILDREN} keys under it; delete some first` };
  }
  const secret = mintKey();
  const key = await insert(state, parent, secret, reading.value, nowMs);
  if (key === undefined) return { kind: 'invalid', problem: 'name: this key has made one of this name already' };
  return { kind: 'done', json: { ...(await shown(key, parent, state, tier)), key: secret } };
}

/**
 * Undefined if there is a child of this name. What others call their keys is none of its business: among the names of
 * all keys it has that of its parent before its own, or where even that is taken the parent's id.
 */
async function insert(
  state: State,
  parent: KeyRecord,
  secret: string,
  terms: ChildTerms,
  nowMs: number,
): Promise<KeyRecord | undefined> {
  for (const prefix of prefixesOf(parent)) {
    const children = await childrenOf(state, parent.id);
    if (children.some((child) => ownName(child, parent) === terms.name)) return undefined;
    const named = { ...terms, name: `${prefix}${terms.name}`, parentId: parent.id };
    const change = await state.keys.create(secret, named, nowMs);
    if (change.kind === 'done') return change.key;
  }
  return undefined;
}

function prefixesOf({ name, id }: KeyRecord): readonly string[] {
  return [`${name}/`, `${id}/`];
}

/** As it was asked for. */
function ownName({ name }: KeyRecord, parent: KeyRecord): string {
  const prefix = prefixesOf(parent).find((each) => name.startsWith(each)) ?? '';
  return name.slice(prefix.length);
}

export async function listChildren(state: State, parentId: string, tier: Limits): Promise<ChildAnswer> {
  const parent = await parentOf(state, parentId);
  if (parent === undefined) return { kind: 'may_not' };
  const children = await childrenOf(state, parentId);
  const data = await Promise.all(children.map((child) => shown(child, parent, state, tier)));
  return { kind: 'done', json: { object: 'list', data } };
}

export async function deleteChild(state: State, parentId: string, id: string, tier: Limits): Promise<ChildAnswer> {
  const parent = await parentOf(state, parentId);
  if (parent === undefined) return { kind: 'may_not' };
  const child = (await childrenOf(state, parentId)).find((each) => each.id === id);
  if (child === undefined) return { kind: 'no_such_key' };
  const change = await state.keys.setState(child.id, 'deleted');
  return change.kind === 'done'
    ? { kind: 'done', json: await shown(change.key, parent, state, tier) }
    : { kind: 'no_such_key' };
}

async function parentOf({ keys }: State, id: string): Promise<KeyRecord | undefined> {
  const key = await keys.find(id);
  return key?.mayCreate === true ? key : undefined;
}

async function childrenOf({ keys }: State, parentId: string): Promise<readonly KeyRecord[]> {
  return keys.list({ withDeleted: false, parentId });
}

async function shown(key: KeyRecord, parent: KeyRecord, { usage, budgets }: State, tier: Limits) {
  const nowMs = Date.now();
  const month = await usage.monthOf(key.id, utcMonth(nowMs));
  const spends = (await budgets.spentBy([key], nowMs)).get(key.id) ?? [];
  return keyJson({ ...key, name: ownName(key, parent) }, { month, spends, group: null }, tier);
}

interface ChildTerms extends KeyTerms {
  readonly name: string;
  /** Whether the output of its requests is capped. */
  readonly isLeashed: boolean;
}

/** What is asked for, or what is wrong with it: a field, or a limit that is looser than the parent's. */
function termsOf(asked: Asked, parent: KeyRecord, tier: Limits, nowMs: number): Reading<ChildTerms> {
  const fields = new FieldReader(asked);
  const limits = limitsInForce(parent, tier);
  const child: ChildTerms = {
    name: fields.read('name', readKeyName) ?? '',
    rpm: fields.read('rpm', upTo(limits.rpm)) ?? parent.rpm,
    tpm: fields.read('tpm', upTo(limits.tpm)) ?? parent.tpm,
    concurrency: fields.read('concurrency', upTo(limits.concurrency)) ?? parent.concurrency,
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
  /** The first that was found. */
  problem: string | undefined;
  readonly #asked: Asked;

  constructor(asked: Asked) {
    this.#asked = asked;
    const unknown = Object.keys(asked).find((field) => !FIELDS.includes(field));
    if (unknown !== undefined) this.#fault(printableName(unknown), `expected one of ${FIELDS.join(', ')}`);
    if (asked.name === undefined) this.#fault('name', 'expected a name for the key');
  }

  /** Undefined if it is not there, or is wrong. */
  read<T>(field: string, reader: Reader<T>, value: unknown = this.#asked[field]): T | undefined {
    if (value === undefined || value === null) return undefined;
    const reading = typeof value === 'string' || typeof value === 'number' ? reader(String(value)) : NO_TEXT;
    if (reading.ok) return reading.value;
    this.#fault(field, reading.expected);
    return undefined;
  }

  /** An amount in USD is a text everywhere: as a number it would have been rounded already. */
  amount<T>(field: string, reader: Reader<T>, value: unknown = this.#asked[field]): T | undefined {
    if (typeof value !== 'number') return this.read(field, reader, value);
    this.#fault(field, 'expected USD as a string, such as "1.50"');
    return undefined;
  }

  budgets(): readonly Budget[] {
    const { budgets = {} } = this.#asked;
    if (!isObject(budgets)) this.#fault('budgets', 'expected an object such as {"day": "1"}');
    const found = Object.entries(isObject(budgets) ? budgets : {}).flatMap(([period, amount]) => {
      const said = typeof amount === 'number' ? amount : `${period}=${String(amount)}`;
      const word = this.amount('budgets', readBudget, said);
      if (word?.kind === 'remove') this.#fault('budgets', 'expected an amount in USD for each period');
      return word === undefined ? [] : [word];
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

const NO_TEXT = { ok: false, expected: 'Expected a string or a number.' } as const;

/** A whole number up to what the parent has. */
function upTo(limit: number): Reader<number> {
  return (text) => {
    const reading = readCount(MAX_TPM)(text);
    if (reading.ok && reading.value <= limit) return reading;
    return { ok: false, expected: `Expected a whole number from 1 to ${limit}, the limit of this key.` };
  };
}

/** What of a new key is looser than its parent's; undefined if nothing is. */
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
