/** Keys as they are stored: their fields, their limits, and what a name may look like. Pure. */
import { redactKeys } from '../core/api-key.ts';
import type { Limits } from '../core/limits.ts';
import type { Nanos } from '../core/money.ts';
import { isPrintable } from '../core/printable.ts';

export type KeyState = 'enabled' | 'disabled' | 'deleted';

/** The limits that are set on a key itself. Null means the tier's limit, or no spend limit. */
export interface OwnLimits {
  readonly rpm: number | null;
  readonly tpm: number | null;
  readonly concurrency: number | null;
  readonly spendLimitNanos: Nanos | null;
}

export interface KeyRecord extends OwnLimits {
  readonly id: string;
  readonly name: string;
  readonly preview: string;
  readonly state: KeyState;
  /** The models that the key may call; null allows all. */
  readonly allowlist: readonly string[] | null;
  readonly createdAtMs: number;
}

export interface NewKey extends OwnLimits {
  readonly name: string;
  readonly allowlist: readonly string[] | null;
}

export interface KeyQuery {
  readonly withDeleted: boolean;
  /** Only keys created after this one. */
  readonly afterId?: string | undefined;
  /** The number of keys to return at most. */
  readonly limit?: number | undefined;
}

/** The result of an operation that creates or changes a key. */
export type KeyChange =
  | { readonly kind: 'done'; readonly key: KeyRecord }
  | { readonly kind: 'no_such_key' }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'name_taken' };

/** The limits in force for a key: its own, and the defaults where it has none. */
export function limitsInForce(own: OwnLimits, defaults: Limits): Limits {
  return {
    rpm: own.rpm ?? defaults.rpm,
    tpm: own.tpm ?? defaults.tpm,
    concurrency: own.concurrency ?? defaults.concurrency,
    modelsRpm: defaults.modelsRpm,
  };
}

/** The length of a key's name at most, in Unicode code points. */
export const MAX_NAME_CHARACTERS = 64;
const ID_FORM = /^key_[0-9a-z]{26}$/;

/** Checks a name for a key. Returns the problem with it, or undefined if it is valid. */
export function checkKeyName(name: string): string | undefined {
  if (name === '' || [...name].length > MAX_NAME_CHARACTERS) {
    return `a name has 1 to ${MAX_NAME_CHARACTERS} characters`;
  }
  if (name !== name.trim()) return 'a name cannot begin or end with a space';
  if (!isPrintable(name)) return 'a name cannot contain control characters';
  // It would be stored as it is, and shown wherever the key is.
  if (redactKeys(name) !== name) return 'a name cannot look like a key';
  if (ID_FORM.test(name)) return 'a name cannot look like a key id';
  return undefined;
}
