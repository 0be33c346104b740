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
  /** Spending against its budgets and its monthly limit. */
  readonly bounds: readonly BudgetSpend[];
  /** Milliseconds since 1970; undefined if it was never used. */
  readonly lastUsedMs: number | undefined;
}

export interface StoredGroup {
  readonly record: GroupRecord;
  /** Number of keys in the group and its inner groups. */
  readonly keys: number;
  readonly month: MonthFigures;
  readonly bounds: readonly BudgetSpend[];
}

/** An end user with the spending against their budgets and monthly limit. */
export interface StoredUser extends EndUser {
  readonly bounds: readonly BudgetSpend[];
}

/** A page of the end users of a key or a group: there may be millions. */
export interface UserPage {
  /** The names before the first user of this page, and of each earlier page. */
  readonly starts: readonly string[];
  /** Undefined until the page is read. */
  readonly users: readonly StoredUser[] | undefined;
  readonly hasMore: boolean;
}

/** Data from the store and the config. */
export interface Stored {
  readonly statePath: string;
  /** Undefined if the config file is missing and the defaults apply. */
  readonly configPath: string | undefined;
  /** The URL of a gateway with this config. */
  readonly origin: string;
  readonly tierName: string;
  readonly creditEnforced: boolean;
  readonly balanceNanos: Nanos;
  readonly heldNanos: Nanos;
  /** Cost of the last seven days. */
  readonly week: Spending;
  readonly keys: readonly StoredKey[];
  /** Ordered by creation. */
  readonly groups: readonly StoredGroup[];
  readonly models: readonly CatalogModel[];
  /** This month's requests and cost by model id. */
  readonly modelUsage: ReadonlyMap<string, UsageRow>;
}

/** A request in Live. */
export interface LiveRow extends RequestRow {
  /** Of a request on another gateway only the hold is known. */
  readonly elsewhere?: { readonly node: string; readonly holdNanos: Nanos };
}

/** Data from the database about all gateways that share it. */
export interface Shared {
  /** Name of the gateway of this config. */
  readonly ownNode: string;
  readonly nodes: readonly NodeRecord[];
  /** Requests in flight, oldest first: as many as Live shows. */
  readonly open: readonly LiveRow[];
  /** Activity of the busiest keys, read only if no gateway on this machine reports it. */
  readonly busiest: readonly KeyActivityRow[];
  readonly keys: readonly KeyActivityRow[];
  /** Whether the last read failed, so that the data is older. */
  readonly isStale: boolean;
}

/** The details of a key beyond its row. */
export interface KeyDetail {
  readonly keyId: string;
  readonly byModel: readonly UsageRow[];
  /** The last 30 days, oldest first. */
  readonly byDay: readonly UsageRow[];
  readonly refusals: readonly RefusalRow[];
  /** Refusals by this machine's gateway in the last hour, by reason. */
  readonly refusedLately: readonly RefusedMinutes[];
}

/** A request of the journal, or one that this machine's gateway refused. */
export interface FoundRequest extends RequestRecord {
  readonly refused?: Refusal;
}

/** A page of the journal, with the refusals of the same time. */
export interface FoundPage extends Omit<RequestPage, 'rows'> {
  readonly rows: readonly FoundRequest[];
  /** Since when the gateway has kept refusals, in milliseconds since 1970; undefined without a gateway. */
  readonly refusedSinceMs?: number | undefined;
  /** Number of later rows; undefined if counting is slow, or if a search in a time span does not need it. */
  readonly left?: number | undefined;
}

/** A search in the journal; undefined and false leave a condition out. */
export interface RequestSearch {
  /** The id of a request or a completion. It overrides the other conditions. */
  readonly id: string | undefined;
  readonly keyId: string | undefined;
  readonly errors: boolean;
  /** Admitted at this time or later. */
  readonly sinceMs: number | undefined;
  /** Admitted before this time. */
  readonly untilMs: number | undefined;
}

/** The filter of usage. */
export interface UsageOf {
  readonly key?: { readonly id: string; readonly name: string };
  readonly model?: string;
  /** A day, `2026-11-22`, or a month, `2026-11`, instead of the range. */
  readonly period?: string;
}

/** A row of usage with the cost of the week before, and by hour or day; undefined where unknown. */
export interface ComparedUsage extends UsageRow {
  readonly beforeNanos?: Nanos;
  /** Cost in USD per slot, oldest first. */
  readonly costs?: readonly number[];
  /** The time of high cost. */
  readonly high?: { readonly sinceMs: number; readonly untilMs: number | undefined };
}

/** The cost over time of the row under the cursor, and the largest spenders of its burn. */
export interface PlottedCost {
  /** The query of this plot. */
  readonly of: PlotQuery;
  readonly history: CostHistory;
  /** `80% by key web-app, 75% by model openai/gpt-5`; empty without a burn. */
  readonly burnBy: string;
}

/** The query of a plot: its requests, and its time range. */
export interface PlotQuery {
  /** The key, group, model or name whose requests count. */
  readonly filter: HistoryFilter;
  /** Name of the key, group, model or user in the title. */
  readonly title: string;
  readonly range: '24h' | '7d' | '30d';
}

/** The groupings of the Usage view. */
export const USAGE_CHOICES: readonly UsageGroup[] = [
  ...USAGE_GROUPS.filter((by) => by !== 'group' && by !== 'hour'),
  // Read from the journal, which takes longer.
  'group',
  'hour',
];

export const RANGES = ['today', '24h', '7d', '30d', 'this month', 'all'] as const;
export type Range = (typeof RANGES)[number];

/** Time ranges of the Overview's charts. */
export const CHART_RANGES = ['1m', '5m', '1h', '24h'] as const;
export type ChartRange = (typeof CHART_RANGES)[number];

/** The subject of a trouble. */
export type TroubleKind = 'gateway' | 'storage' | 'money' | 'upstreams' | 'groups' | 'keys' | 'rates';

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly value: Typed;
  /** The meaning of an empty field, or an example. */
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
  /** 1 adds credit, -1 removes it. */
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
  /** The newest entries, newest first. */
  readonly entries: readonly CreditEntry[];
  /** Number of all entries. */
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
      /** The number of the change that it undoes. */
      readonly undoes?: number;
      /** The word to type to confirm; undefined if `y` is enough. */
      readonly word: string | undefined;
      readonly typed: Typed;
      /** Details by label. */
      readonly facts?: readonly (readonly [label: string, value: string])[];
    }
  | {
      readonly kind: 'picker';
      /** The destination of the choice: a key, a group, or the form that opened the picker. */
      readonly saves:
        | { readonly kind: 'key'; readonly keyId: string }
        | { readonly kind: 'group'; readonly level: GroupRef }
        | { readonly kind: 'field'; readonly form: FormDialog }
        /** Chooses one group, or no group. */
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
      /** Whether the user tried to quit, which needs a confirmation. */
      readonly leaving: boolean;
    }
  | {
      readonly kind: 'notice';
      readonly title: string;
      /** Undefined for failures. */
      readonly tone?: Tone;
      readonly lines: readonly string[];
      /** The first visible line after wrapping. */
      readonly top: number;
    }
  /** The running audit. `of` is 0 until the total is known. */
  | { readonly kind: 'audit'; readonly read: number; readonly of: number }
  /** The actions of this dashboard. */
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
  /** Whether the dashboard refuses changes. */
  readonly isReadOnly: boolean;
  /** The gateway's last snapshot; undefined while no gateway runs. */
  readonly snapshot: Snapshot | undefined;
  /** Whether the first connection attempt is still in progress. */
  readonly isConnecting: boolean;
  /** Whether this dashboard has ever reached a gateway. */
  readonly wasConnected: boolean;
  /** Time at which the gateway was lost, in milliseconds since 1970; undefined while connected, and before. */
  readonly lostAtMs: number | undefined;
  /** The reason for distrusting the control socket; undefined if it is trusted. */
  readonly socketError: string | undefined;
  /** The last few minutes by second, without seconds of no traffic. */
  readonly seconds: readonly TrafficRow[];
  /** The last 24 hours by minute, without minutes of no traffic. */
  readonly minutes: readonly TrafficRow[];
  readonly chartRange: ChartRange;
  /** Recently ended or refused requests, latest last. */
  readonly ended: readonly RequestRow[];
  readonly stored: Stored;
  /** Undefined for a state file, which serves at most one gateway. */
  readonly shared: Shared | undefined;
  /** The places that Esc returns to, latest last. */
  readonly trail: readonly Place[];
  readonly lists: Readonly<Record<View, ListState>>;
  readonly overview: { readonly isOpen: boolean };
  /** The open details. */
  readonly keys: { readonly detail: KeyDetail | undefined };
  readonly groups: {
    /** Whether the details of the row under the cursor are open. */
    readonly isOpen: boolean;
    /** Ids of the unfolded rows. */
    readonly unfolded: ReadonlySet<string>;
    /** Pages of the unfolded rows by the id of their key or group. */
    readonly users: ReadonlyMap<string, UserPage>;
  };
  readonly live: {
    readonly isOpen: boolean;
    /** The ended requests at the time of the selection, so that the rows do not move. */
    readonly frozen: readonly RequestRow[] | undefined;
    /** The rows at the time of the question whether to stop one of them. */
    readonly asked: readonly LiveRow[] | undefined;
  };
  readonly requests: {
    readonly isOpen: boolean;
    /** The requests found, newest admission first; a long list loses its first rows. */
    readonly rows: readonly FoundRequest[];
    /** Since when refusals are known; undefined without a gateway. */
    readonly refusedSinceMs: number | undefined;
    /** Number of the search, by which results of earlier searches are dropped. */
    readonly search: number;
    readonly isReading: boolean;
    /** Start of the next page; undefined before the first page and after the last. */
    readonly next: JournalPlace | undefined;
    /** Number of requests examined by this search. */
    readonly looked: number;
    /** Number of requests not yet examined; undefined if unknown. */
    readonly left: number | undefined;
    /** Whether the user stopped the search. */
    readonly isStopped: boolean;
  };
  readonly usage: {
    readonly by: UsageGroup;
    readonly range: Range;
    readonly of: UsageOf;
    readonly rows: readonly ComparedUsage[];
    /** The grouping of the rows. It differs from `by` until the new rows are read. */
    readonly rowsBy: UsageGroup;
    /** Time of the last read, in milliseconds since 1970; undefined before the first. */
    readonly readAtMs: number | undefined;
  };
  /** The plot of the row under the cursor; undefined until it is read. */
  readonly plot: PlottedCost | undefined;
  /** Actions of this dashboard, latest last. */
  readonly done: readonly Done[];
  /** The dashboard's `--config`, which its command lines repeat. */
  readonly configOption: string | undefined;
  /**
   * The last trouble that `!` opened, and the length of the trail before the first one; undefined after another key
   * left it.
   */
  readonly walk: { readonly to: TroubleKind; readonly trailLength: number } | undefined;
  readonly dialog: Dialog | undefined;
  readonly message: Message | undefined;
}

/** The state of a view, to which Esc returns. */
export interface Place
  extends Pick<Model, 'view' | 'lists' | 'overview' | 'keys' | 'groups' | 'live' | 'requests' | 'usage'> {
  /** Label of the chosen row. */
  readonly label: string;
  /** The filter with which the next place was opened. */
  readonly filter: string;
}

/** The Live view without a selection: the rows move as requests arrive. */
export const LIVE_AT_TOP: Model['live'] = { isOpen: false, frozen: undefined, asked: undefined };

export const FIRST_LISTS: Model['lists'] = {
  // The Overview starts without a cursor.
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
