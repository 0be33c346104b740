/** What can be done in the dashboard, and what has been done. */
import type { Nanos } from '../core/money.ts';
import type { SomeLimits } from '../operator/terms.ts';
import type { KeyRecord, KeyState, KeyTerms } from '../state/keys.ts';
import type { Tone } from './draw/line.ts';

/** A change to the state file, or a command to the running gateway. */
export type Action =
  | { readonly kind: 'create'; readonly name: string; readonly terms: KeyTerms }
  | { readonly kind: 'set_state'; readonly keyId: string; readonly state: KeyState }
  | { readonly kind: 'rotate'; readonly keyId: string }
  | { readonly kind: 'set_limits'; readonly keyId: string; readonly limits: SomeLimits }
  | { readonly kind: 'set_allowlist'; readonly keyId: string; readonly models: readonly string[] | null }
  /** Removes it if the amount is negative. */
  | { readonly kind: 'add_credit'; readonly nanos: Nanos; readonly note: string }
  | { readonly kind: 'stop_request'; readonly id: string }
  /** Stops a request that another gateway runs. */
  | { readonly kind: 'stop_elsewhere'; readonly id: string; readonly node: string };

/** What can be done in the dashboard. */
export type Deed = Action | { readonly kind: 'reload' };

/** What was done in this dashboard, or failed. */
export interface Done {
  /** Counts from 1. */
  readonly number: number;
  readonly atMs: number;
  readonly deed: Deed;
  /** The key as it was before; undefined if it is not about one. */
  readonly before: KeyRecord | undefined;
  readonly text: string;
  readonly tone: Tone;
  readonly isUndone: boolean;
  /** Whether it undid something itself. */
  readonly isUndo: boolean;
}
