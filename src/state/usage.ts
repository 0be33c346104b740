/** Usage: the queries and contents of reports. */
import type { Nanos } from '../core/money.ts';
import { NAME_KINDS, type NameKind } from '../core/spent-by.ts';

/** The groupings of a usage report. */
export const USAGE_GROUPS = ['key', 'model', 'group', 'hour', 'day', 'month', 'source', ...NAME_KINDS] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export interface UsageQuery {
  /** Undefined asks for a single row with the sum of everything. */
  readonly by: UsageGroup | undefined;
  /** Further groupings within the first. */
  readonly and?: readonly UsageGroup[];
  readonly keyId: string | undefined;
  /** Only requests booked to this group, which includes the groups inside it. */
  readonly groupId?: string | undefined;
  readonly model: string | undefined;
  /** Only requests with these names. An empty name selects requests without one. */
  readonly names?: Readonly<Partial<Record<NameKind, string>>>;
  /** Inclusive, by time of admission. */
  readonly sinceMs: number | undefined;
  /** Exclusive. */
  readonly untilMs: number | undefined;
}

/**
 * The sums of one grouping. Groups of keys overlap: a request counts in its key's group and in all enclosing groups. Only
 * the grouped fields are defined.
 */
export interface UsageRow {
  readonly key: string | undefined;
  readonly keyId: string | undefined;
  readonly model: string | undefined;
  readonly group?: string | undefined;
  readonly groupId?: string | undefined;
  /** The start of the hour in UTC: `2026-11-24T16:00:00Z`. */
  readonly hour?: string | undefined;
  readonly day: string | undefined;
  readonly month: string | undefined;
  readonly source: string | undefined;
  /** Empty for requests without a name; `other` for names beyond the bound. */
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

/** Refusals of a key for one reason in a month, to add to the stored count. */
export interface RefusalCount extends RefusalRow {
  readonly month: string;
  readonly keyId: string;
}
