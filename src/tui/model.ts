/** All that the screen shows, as data: what is drawn is a function of this, and keys and news make the next one of it. */

import type { Model as CatalogModel } from '../catalog/catalog.ts';
import type { SecondRow, Snapshot } from '../control/protocol.ts';
import type { Limits } from '../core/limits.ts';
import type { Nanos } from '../core/money.ts';
import type { RequestRow } from '../observe/worker-snapshot.ts';
import type { KeyRecord, KeyState, OwnLimits } from '../state/keys.ts';
import type { MonthFigures, RefusalRow, UsageGroup, UsageRow } from '../state/usage.ts';
import type { Tone } from './draw/line.ts';

export const VIEWS = ['overview', 'keys', 'live', 'usage', 'models'] as const;
export type View = (typeof VIEWS)[number];

/** A key, as the state file has it. */
export interface StoredKey {
  readonly record: KeyRecord;
  readonly limits: Limits;
  /** This month's. */
  readonly month: MonthFigures;
  /** Milliseconds since 1970; undefined for never. */
  readonly lastUsedMs: number | undefined;
}

/** What the state file and the config say. */
export interface Stored {
  readonly statePath: string;
  readonly tierName: string;
  readonly creditEnforced: boolean;
  readonly balanceNanos: Nanos;
  readonly heldNanos: Nanos;
  readonly keys: readonly StoredKey[];
  readonly models: readonly CatalogModel[];
  /** This month's requests and cost of each model, by its id. */
  readonly modelUsage: ReadonlyMap<string, UsageRow>;
}

/** More of one key than a line can hold. */
export interface KeyDetail {
  readonly keyId: string;
  readonly byModel: readonly UsageRow[];
  /** Of the last 30 days, the oldest first. */
  readonly byDay: readonly UsageRow[];
  readonly refusals: readonly RefusalRow[];
}

export const KEY_SORTS = ['name', 'requests', 'tokens', 'cost', 'created'] as const;
export type KeySort = (typeof KEY_SORTS)[number];

export const RANGES = ['24h', '7d', '30d', 'this month', 'all'] as const;
export type Range = (typeof RANGES)[number];

/** What is done to the state file, or to the running gateway. */
export type Action =
  | { readonly kind: 'create'; readonly name: string; readonly limits: OwnLimits }
  | { readonly kind: 'set_state'; readonly keyId: string; readonly state: KeyState }
  | { readonly kind: 'rotate'; readonly keyId: string }
  | { readonly kind: 'set_limits'; readonly keyId: string; readonly limits: OwnLimits }
  | { readonly kind: 'set_allowlist'; readonly keyId: string; readonly models: readonly string[] | null }
  | { readonly kind: 'add_credit'; readonly nanos: Nanos; readonly note: string }
  | { readonly kind: 'stop_request'; readonly id: string };

/** A line that is typed into. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  /** What an empty one means, or what may be typed. */
  readonly hint: string;
  readonly fault: string | undefined;
}

export type FormPurpose =
  | { readonly kind: 'create' }
  | { readonly kind: 'limits'; readonly keyId: string }
  | { readonly kind: 'credit' }
  | { readonly kind: 'export' };

export type Dialog =
  | {
      readonly kind: 'form';
      readonly title: string;
      readonly purpose: FormPurpose;
      readonly fields: readonly Field[];
      readonly cursor: number;
    }
  | {
      readonly kind: 'confirm';
      readonly title: string;
      readonly text: string;
      readonly action: Action;
      /** What has to be typed before it is done; undefined where a `y` is enough. */
      readonly word: string | undefined;
      readonly typed: string;
    }
  | {
      readonly kind: 'picker';
      readonly keyId: string;
      readonly name: string;
      readonly options: readonly string[];
      /** Null stands for all models. */
      readonly chosen: readonly string[] | null;
      readonly cursor: number;
    }
  | {
      readonly kind: 'secret';
      readonly name: string;
      readonly secret: string;
      readonly copied: boolean;
      /** Whether the screen was about to be left, which is asked about. */
      readonly leaving: boolean;
    }
  | { readonly kind: 'help'; readonly view: View };

export interface Message {
  readonly text: string;
  readonly tone: Tone;
  readonly untilMs: number;
}

export interface Model {
  readonly columns: number;
  readonly rows: number;
  readonly nowMs: number;
  readonly view: View;
  /** How the gateway stands; undefined while none runs. */
  readonly snapshot: Snapshot | undefined;
  /** Whether there was a gateway since the screen was opened. */
  readonly wasConnected: boolean;
  /** Why no gateway may be asked; undefined where one may. */
  readonly refused: string | undefined;
  /** The last minutes, second by second; those in which nothing happened are left out. */
  readonly seconds: readonly SecondRow[];
  /** The requests that have ended or were refused, as far as they were told of. The latest last. */
  readonly ended: readonly RequestRow[];
  readonly stored: Stored;
  readonly keys: {
    readonly cursor: number;
    readonly sort: KeySort;
    readonly filter: string;
    readonly isTyping: boolean;
    /** The key whose details are open. */
    readonly detail: KeyDetail | undefined;
  };
  readonly live: {
    readonly cursor: number;
    readonly isOpen: boolean;
    /** While one that has ended is chosen: those that had ended by then, which stand still for as long. */
    readonly held: readonly RequestRow[] | undefined;
  };
  readonly usage: {
    readonly by: UsageGroup;
    readonly range: Range;
    readonly rows: readonly UsageRow[];
    readonly cursor: number;
  };
  readonly models: { readonly cursor: number };
  readonly dialog: Dialog | undefined;
  readonly message: Message | undefined;
}

/** Of the requests: one watches what comes. */
export const AT_TOP: Model['live'] = { cursor: 0, isOpen: false, held: undefined };

export function firstModel(stored: Stored, size: { columns: number; rows: number }, nowMs: number): Model {
  return {
    ...size,
    nowMs,
    view: 'overview',
    snapshot: undefined,
    wasConnected: false,
    refused: undefined,
    seconds: [],
    ended: [],
    stored,
    keys: { cursor: 0, sort: 'name', filter: '', isTyping: false, detail: undefined },
    live: AT_TOP,
    usage: { by: 'key', range: 'this month', rows: [], cursor: 0 },
    models: { cursor: 0 },
    dialog: undefined,
    message: undefined,
  };
}
