/** Whom a limit of a race bounds: one key, a group of keys, or an end user who comes by several keys. */
import assert from 'node:assert/strict';
import type { Budget } from '../../src/core/budgets.ts';
import { newId } from '../../src/core/ids.ts';
import type { BookAtOnce } from '../../src/state/book.ts';
import type { OwnLimits } from '../../src/state/keys.ts';
import { NO_USER_LIMITS } from '../../src/state/levels.ts';
import { type KeySettings, makeKey, type TestKey } from '../support/state.ts';
import { AMPLE_ALLOWANCE } from './allowance.ts';
import type { Variant } from './plan.ts';

/** Enough that a limit of each by itself would not do. */
const KEYS = 7;

export interface Terms {
  readonly limits: OwnLimits;
  readonly budgets: readonly Budget[];
}

export interface Bounded {
  readonly keys: readonly TestKey[];
  /** What says in a request whose it is. */
  readonly headers: Readonly<Record<string, string>>;
  /** Changes the limits, as another process would. */
  bound(terms: Terms): void;
}

/** Who races in a variant, bounded by these terms. */
export function newBounded(book: BookAtOnce, variant: Variant, { limits, budgets }: Terms): Bounded {
  if (variant === 'group') {
    const id = newGroup(book, { ...limits, budgets });
    return {
      keys: keysIn(book, id),
      headers: {},
      bound: (next) => done(book.groups.setLimits(id, { ...next.limits, budgets: () => next.budgets })),
    };
  }
  if (variant === 'user') {
    const users = (terms: Terms) => ({ ...NO_USER_LIMITS, ...terms.limits, budgets: terms.budgets, required: true });
    const id = newGroup(book, { userLimits: users({ limits, budgets }) });
    return {
      keys: keysIn(book, id),
      // Each request names another one in its body, whom the header overrules.
      headers: { 'X-Inf-Gw-User': 'zoe' },
      bound: (next) => done(book.groups.setLimits(id, { userLimits: () => users(next) })),
    };
  }
  const key = makeKey(book.keys, { ...limits, budgets });
  return {
    keys: [key],
    headers: {},
    bound: (next) => done(book.keys.setLimits(key.id, { ...next.limits, budgets: () => next.budgets })),
  };
}

function newGroup({ groups }: BookAtOnce, terms: Omit<Parameters<typeof groups.create>[0], 'name'>): string {
  const change = groups.create({ ...terms, name: newId('group', Date.now()) }, Date.now());
  assert.ok(change.kind === 'done');
  return change.group.id;
}

function keysIn({ keys }: BookAtOnce, groupId: string): TestKey[] {
  const settings: KeySettings = { ...AMPLE_ALLOWANCE.limits, groupId };
  return Array.from({ length: KEYS }, () => makeKey(keys, settings));
}

function done({ kind }: { readonly kind: string }): void {
  assert.equal(kind, 'done');
}
