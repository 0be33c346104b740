/** Usage: what reports can be asked for, and what they contain. */
import type { Nanos } from '../core/money.ts';
import { NAME_KINDS, type NameKind } from '../core/spent-by.ts';

/** What the rows of a usage report can stand for. */
export const USAGE_GROUPS = ['key', 'model', 'group', 'day', 'month', 'source', ...NAME_KINDS] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];
/** Those that can stand together: the sums of names are kept apart. */
export type SumGroup = Exclude<UsageGroup, NameKind>;

export interface UsageQuery {
  /** Undefined asks for a single row with the sum of everything. */
  readonly by: UsageGroup | undefined;
  /** What each group is divided by further. */
  readonly and?: readonly SumGroup[];
  readonly keyId: string | undefined;
  /** Only what was booked to this group, and so to those in it. By name that is read from the journal alone. */
  readonly groupId?: string | undefined;
  readonly model: string | undefined;
  /** Inclusive, by time of admission. */
  readonly sinceMs: number | undefined;
  /** Exclusive. */
  readonly untilMs: number | undefined;
}

/**
 * The sums of one group of requests. Those of groups of keys overlap: what is booked to one is booked to the one that it is
 * in as well. Only the fields that name the group are defined. */
export interface UsageRow {
  readonly key: string | undefined;
  readonly keyId: string | undefined;
  readonly model: string | undefined;
  readonly group?: string | undefined;
  readonly groupId?: string | undefined;
  readonly day: string | undefined;
  readonly month: string | undefined;
  readonly source: string | undefined;
  /** Empty for the requests that name none, and `other` for those beyond the bound of names. */
  readonly user?: string | undefined;
  readonly tag?: string | undefined;
  readonly app?: string | undefined;
  readonly requests: number;
  readonly errors: number;
  readonly promptTokens: number;
  /** Among the prompt tokens: read from prompt caches, and written to them. */
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly completionTokens: number;
  readonly costNanos: Nanos;
}

export interface UsageReport {
  readonly rows: readonly UsageRow[];
  /**
   * Days that the range covers in part and whose journal rows were dropped. The rows do not include
   * them.
   */
  readonly droppedDays: readonly string[];
}

/** A key's figures for one month. */
export interface MonthFigures {
  readonly requests: number;
  readonly tokens: number;
  readonly costNanos: Nanos;
}

/** How often a key was refused for one reason in a month. */
export interface RefusalRow {
  readonly code: string;
  readonly reason: string;
  readonly requests: number;
  readonly lastAtMs: number;
}

/** The refusals of a key for one reason in a month that are to be added to those stored. */
export interface RefusalCount extends RefusalRow {
  readonly month: string;
  readonly keyId: string;
}
