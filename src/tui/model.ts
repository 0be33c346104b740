/** The state of the dashboard as data: the screen is a function of it. */

import type { Model as CatalogModel } from '../catalog/catalog.ts';
import type { KeyActivityRow, Snapshot, TrafficRow } from '../control/protocol.ts';
import type { BudgetSpend } from '../core/budgets.ts';
import type { Limits } from '../core/limits.ts';
import type { Nanos } from '../core/money.ts';
import type { Refusal, RefusedMinutes } from '../observe/refusals.ts';
import type { RequestRow } from '../observe/worker-snapshot.ts';
import type { CostHistory, HistoryFilter } from '../operator/cost-history.ts';
import type { Spending } from '../operator/forecast.ts';
import type { EndUser } from '../operator/level-figures.ts';
import type { CreditEntry } from '../state/account.ts';
import type { KeyRecord, KeyTerms, LevelTerms, UserLimits } from '../state/keys.ts';
import type { GroupRecord } from '../state/levels.ts';
import type { NodeRecord } from '../state/nodes.ts';
import type { JournalPlace, RequestPage, RequestRecord } from '../state/requests.ts';
import { type MonthFigures, type RefusalRow, USAGE_GROUPS, type UsageGroup, type UsageRow } from '../state/usage.ts';
import type { Action, Done, GroupRef, LevelRef, OwnerRef } from './actions.ts';
import type { Tone } from './draw/line.ts';
import type { Typed } from './draw/typed.ts';
import { FIRST_LIST, type ListState } from './lists/state.ts';

export const VIEWS = ['overview', 'keys', 'live', 'requests', 'usage', 'models', 'groups'] as const;
export type View = (typeof VIEWS)[number];

export interface StoredKey {
  readonly record: KeyRecord;
  readonly limits: Limits;
  readonly month: MonthFigures;
  /** What it has spent of its budgets, and of its limit of the month as one of them. */
  readonly bounds: readonly BudgetSpend[];
  /** Milliseconds since 1970; undefined for never. */
  readonly lastUsedMs: number | undefined;
}

export interface StoredGroup {
  readonly record: GroupRecord;
  /** The keys in it and in the groups in it. */
  readonly keys: number;
  readonly month: MonthFigures;
  readonly bounds: readonly BudgetSpend[];
}

/** An end user with what they have spent of their budgets, and of their limit of the month as one of them. */
export interface StoredUser extends EndUser {
  readonly bounds: readonly BudgetSpend[];
}

/** A part of the end users of a key or a group: there may be millions. */
export interface UserPage {
  /** After which names this page begins, and those that were shown before it. */
  readonly starts: readonly string[];
  /** Undefined until they are read. */
  readonly users: readonly StoredUser[] | undefined;
  readonly hasMore: boolean;
}

/** What comes from the state file and the config. */
export interface Stored {
  readonly statePath: string;
  /** Undefined if there is no config file, and the defaults apply. */
  readonly configPath: string | undefined;
  /** The URL that a gateway of this config serves. */
  readonly origin: string;
  readonly tierName: string;
  readonly creditEnforced: boolean;
  readonly balanceNanos: Nanos;
  readonly heldNanos: Nanos;
  /** What the last seven days have cost. */
  readonly week: Spending;
  readonly keys: readonly StoredKey[];
  /** In order of creation. */
  readonly groups: readonly StoredGroup[];
  readonly models: readonly CatalogModel[];
  /** This month's requests and cost by model id. */
  readonly modelUsage: ReadonlyMap<string, UsageRow>;
}

/** A request as Live shows it. */
export interface LiveRow extends RequestRow {
  /** Of a request that another gateway runs, only its hold is known. */
  readonly elsewhere?: { readonly node: string; readonly holdNanos: Nanos };
}

/** What the database knows about all gateways that share it. */
export interface Shared {
  /** The name of the gateway of this config. */
  readonly ownNode: string;
  readonly nodes: readonly NodeRecord[];
  /** Requests in flight, oldest first: as many as Live shows. */
  readonly open: readonly LiveRow[];
  /** The activity of keys, if no gateway here tells it. */
  readonly busiest: readonly KeyActivityRow[];
  readonly keys: readonly KeyActivityRow[];
  /** Whether the database could not be read last time: all this was so before. */
  readonly isStale: boolean;
}

/** What the details of a key show beyond its row. */
export interface KeyDetail {
  readonly keyId: string;
  readonly byModel: readonly UsageRow[];
  /** The last 30 days, oldest first. */
  readonly byDay: readonly UsageRow[];
  readonly refusals: readonly RefusalRow[];
  /** How often the gateway here has refused it in the last hour, by reason. */
  readonly refusedLately: readonly RefusedMinutes[];
}

/** A request of the journal, or one that the gateway here has refused. */
export interface FoundRequest extends RequestRecord {
  readonly refused?: Refusal;
}

/** A page of the journal, with what was refused meanwhile. */
export interface FoundPage extends Omit<RequestPage, 'rows'> {
  readonly rows: readonly FoundRequest[];
  /** From when on the gateway knows what it refused, in milliseconds since 1970; undefined if none tells. */
  readonly refusedSinceMs?: number | undefined;
  /** How many requests follow it; undefined if nobody can tell at once, or a search in a span of time does not need all. */
  readonly left?: number | undefined;
}

/** What the state looks for in the journal; undefined and false leave a condition out. */
export interface RequestSearch {
  /** A request's, or that of a completion. Alone: the other conditions do not count. */
  readonly id: string | undefined;
  readonly keyId: string | undefined;
  readonly errors: boolean;
  /** Admitted then or later. */
  readonly sinceMs: number | undefined;
  /** Admitted earlier. */
  readonly untilMs: number | undefined;
}

/** What usage is narrowed down to. */
export interface UsageOf {
  readonly key?: { readonly id: string; readonly name: string };
  readonly model?: string;
  /** A day, `2026-11-22`, or a month, `2026-11`, instead of the range. */
  readonly period?: string;
}

/** What one group used, beside what it cost a week earlier, and by hour or day; undefined where that is not known. */
export interface ComparedUsage extends UsageRow {
  readonly beforeNanos?: Nanos;
  /** In USD, the oldest first. */
  readonly costs?: readonly number[];
  /** When it has cost much. */
  readonly high?: { readonly sinceMs: number; readonly untilMs: number | undefined };
}

/** The cost over time of the row under the cursor, and the largest spenders of its burn. */
export interface PlottedCost {
  /** The query that it answers. */
  readonly of: PlotQuery;
  readonly history: CostHistory;
  /** `80% by key web-app, 75% by model openai/gpt-5`; empty without a burn. */
  readonly burnBy: string;
}

/** The cost that a plot shows: of which requests, over which time. */
export interface PlotQuery {
  /** Of which key, group, model or name. */
  readonly filter: HistoryFilter;
  /** The name of the key, group, model or user in the title. */
  readonly title: string;
  readonly range: '24h' | '7d' | '30d';
}

/** The groupings of the Usage view. */
export const USAGE_CHOICES: readonly UsageGroup[] = [
  ...USAGE_GROUPS.filter((by) => by !== 'group' && by !== 'hour'),
  // The journal is read for them, which takes longer.
  'group',
  'hour',
];

export const RANGES = ['today', '24h', '7d', '30d', 'this month', 'all'] as const;
export type Range = (typeof RANGES)[number];

/** What the charts of the Overview reach back over. */
export const CHART_RANGES = ['1m', '5m', '1h', '24h'] as const;
export type ChartRange = (typeof CHART_RANGES)[number];

/** What a trouble is about. */
export type TroubleKind = 'gateway' | 'storage' | 'money' | 'upstreams' | 'groups' | 'keys' | 'rates';

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly value: Typed;
  /** What an empty field means, or an example. */
  readonly hint: string;
  readonly problem: string | undefined;
}

export type FormPurpose =
  | { readonly kind: 'create' }
  | { readonly kind: 'limits'; readonly keyId: string; readonly before: KeyTerms }
  | { readonly kind: 'create_group' }
  | { readonly kind: 'level_limits'; readonly level: LevelRef; readonly before: LevelTerms }
  | { readonly kind: 'user_limits'; readonly owner: OwnerRef; readonly before: UserLimits }
  | { readonly kind: 'move'; readonly owner: OwnerRef }
  /** Whether it is added or removed. */
  | { readonly kind: 'credit'; readonly sign: 1n | -1n }
  | { readonly kind: 'export' };

export interface FormDialog {
  readonly kind: 'form';
  readonly title: string;
  readonly purpose: FormPurpose;
  readonly fields: readonly Field[];
  readonly cursor: number;
}

export interface CreditDialog {
  readonly kind: 'credit_history';
  /** The newest, newest first. */
  readonly entries: readonly CreditEntry[];
  /** The number of all. */
  readonly total: number;
  readonly top: number;
}

export type Dialog =
  | FormDialog
  | CreditDialog
  | {
      readonly kind: 'confirm';
      readonly title: string;
      readonly text: string;
      readonly action: Action;
      /** The number of what it undoes. */
      readonly undoes?: number;
      /** What must be typed to confirm; undefined if a `y` is enough. */
      readonly word: string | undefined;
      readonly typed: Typed;
      /** What it is about, by label. */
      readonly facts?: readonly (readonly [label: string, value: string])[];
    }
  | {
      readonly kind: 'picker';
      /** What becomes of the choice: a key or a group gets it, or it goes into the form that asked for it. */
      readonly saves:
        | { readonly kind: 'key'; readonly keyId: string }
        | { readonly kind: 'group'; readonly level: GroupRef }
        | { readonly kind: 'field'; readonly form: FormDialog }
        /** One group, or none. */
        | { readonly kind: 'group_field'; readonly form: FormDialog };
      readonly name: string;
      readonly options: readonly string[];
      /** Null for all models. */
      readonly chosen: readonly string[] | null;
      readonly cursor: number;
    }
  | {
      readonly kind: 'secret';
      readonly name: string;
      readonly secret: string;
      readonly copied: boolean;
      /** Whether the user tried to quit, which has to be confirmed. */
      readonly leaving: boolean;
    }
  | {
      readonly kind: 'notice';
      readonly title: string;
      /** Undefined for what went wrong. */
      readonly tone?: Tone;
      readonly lines: readonly string[];
      /** The first line that shows, once the lines are wrapped. */
      readonly top: number;
    }
  /** The audit that is running. `of` is 0 until it is known. */
  | { readonly kind: 'audit'; readonly read: number; readonly of: number }
  /** What was done in this dashboard. */
  | { readonly kind: 'done'; readonly top: number }
  | { readonly kind: 'palette'; readonly query: Typed; readonly cursor: number }
  | { readonly kind: 'help'; readonly view: View; readonly top: number };

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
  /** Whether it changes nothing. */
  readonly isReadOnly: boolean;
  /** The last snapshot of the gateway; undefined while none is running. */
  readonly snapshot: Snapshot | undefined;
  /** Whether it is not known yet if a gateway runs. */
  readonly isConnecting: boolean;
  /** Whether a gateway has been reached since the dashboard was opened. */
  readonly wasConnected: boolean;
  /** When the gateway that was reached was lost, in milliseconds since 1970; undefined while there is one, and before. */
  readonly lostAtMs: number | undefined;
  /** Why the control socket cannot be trusted; undefined if it can. */
  readonly socketError: string | undefined;
  /** The last few minutes by second, without the seconds in which nothing happened. */
  readonly seconds: readonly TrafficRow[];
  /** The last 24 hours by minute, without the minutes in which nothing happened. */
  readonly minutes: readonly TrafficRow[];
  readonly chartRange: ChartRange;
  /** The requests known to have ended or been refused, latest last. */
  readonly ended: readonly RequestRow[];
  readonly stored: Stored;
  /** Undefined for a state file, which has one gateway at most. */
  readonly shared: Shared | undefined;
  /** What Esc goes back to, the latest last. */
  readonly trail: readonly Place[];
  readonly lists: Readonly<Record<View, ListState>>;
  readonly overview: { readonly isOpen: boolean };
  /** The details that are open. */
  readonly keys: { readonly detail: KeyDetail | undefined };
  readonly groups: {
    /** Whether the details of the row under the cursor are open. */
    readonly isOpen: boolean;
    /** The ids of the rows that are unfolded. */
    readonly unfolded: ReadonlySet<string>;
    /** By the id of their key or group, of those that are unfolded. */
    readonly users: ReadonlyMap<string, UserPage>;
  };
  readonly live: {
    readonly isOpen: boolean;
    /** The ended requests to show while one of them is selected, so that the rows do not move. */
    readonly frozen: readonly RequestRow[] | undefined;
    /** All rows to show while the dashboard asks whether to stop one of them. */
    readonly asked: readonly LiveRow[] | undefined;
  };
  readonly requests: {
    readonly isOpen: boolean;
    /** Those found so far, newest admission first; the first of them may have been dropped again. */
    readonly rows: readonly FoundRequest[];
    /** From when on refused requests are known; undefined if no gateway tells. */
    readonly refusedSinceMs: number | undefined;
    /** Goes up with each search: what an earlier one still finds is dropped. */
    readonly search: number;
    readonly isReading: boolean;
    /** Where the next page begins; undefined before the first, and if there are no more. */
    readonly next: JournalPlace | undefined;
    /** How many requests this search has looked through. */
    readonly looked: number;
    /** How many it has not; undefined if that is not known. */
    readonly left: number | undefined;
    /** Whether it was told not to look any further back. */
    readonly isStopped: boolean;
  };
  readonly usage: {
    readonly by: UsageGroup;
    readonly range: Range;
    readonly of: UsageOf;
    readonly rows: readonly ComparedUsage[];
    /** What the rows stand for: not `by` until those have been read. */
    readonly rowsBy: UsageGroup;
    /** When the rows were read, in milliseconds since 1970; undefined before that. */
    readonly readAtMs: number | undefined;
  };
  /** The plot of the row under the cursor; undefined until it is read. */
  readonly plot: PlottedCost | undefined;
  /** What was done in this dashboard, latest last. */
  readonly done: readonly Done[];
  /** The `--config` that it was started with, which its command lines need, too. */
  readonly configOption: string | undefined;
  /**
   * The trouble that `!` has gone to last, and how long the trail was before the first of them; undefined if another
   * key led away from it.
   */
  readonly walk: { readonly to: TroubleKind; readonly trailLength: number } | undefined;
  readonly dialog: Dialog | undefined;
  readonly message: Message | undefined;
}

/** A view as it was left for what Esc goes back from. */
export interface Place
  extends Pick<Model, 'view' | 'lists' | 'overview' | 'keys' | 'groups' | 'live' | 'requests' | 'usage'> {
  /** What was chosen there. */
  readonly label: string;
  /** The filter that the next place was opened with. */
  readonly filter: string;
}

/** The Live view with nothing selected: the rows move as requests come in. */
export const LIVE_AT_TOP: Model['live'] = { isOpen: false, frozen: undefined, asked: undefined };

export const FIRST_LISTS: Model['lists'] = {
  // Nothing is chosen there until somebody wants to.
  overview: { ...FIRST_LIST, cursor: -1 },
  keys: { ...FIRST_LIST, sort: { by: 'name', isDown: false } },
  live: FIRST_LIST,
  requests: FIRST_LIST,
  usage: FIRST_LIST,
  models: FIRST_LIST,
  groups: { ...FIRST_LIST, sort: { by: 'name', isDown: false } },
};

export function firstModel(stored: Stored, size: { columns: number; rows: number }, nowMs: number): Model {
  return {
    ...size,
    nowMs,
    view: 'overview',
    isReadOnly: false,
    snapshot: undefined,
    isConnecting: true,
    wasConnected: false,
    lostAtMs: undefined,
    socketError: undefined,
    seconds: [],
    minutes: [],
    chartRange: '5m',
    ended: [],
    stored,
    shared: undefined,
    trail: [],
    lists: FIRST_LISTS,
    overview: { isOpen: false },
    keys: { detail: undefined },
    groups: { isOpen: false, unfolded: new Set(), users: new Map() },
    live: LIVE_AT_TOP,
    requests: {
      isOpen: false,
      rows: [],
      search: 0,
      isReading: false,
      next: undefined,
      looked: 0,
      left: undefined,
      isStopped: false,
      refusedSinceMs: undefined,
    },
    usage: { by: 'key', range: '24h', of: {}, rows: [], rowsBy: 'key', readAtMs: undefined },
    plot: undefined,
    done: [],
    configOption: undefined,
    walk: undefined,
    dialog: undefined,
    message: undefined,
  };
}
