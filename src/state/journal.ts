/**
 * The rows of single requests that the ledger writes and reads. The fields are declared here; messages, columns and moves
 * derive from them.
 */
import { type Column, Layout } from '../core/layout.ts';
import type { Nanos } from '../core/money.ts';
import type { Settlement } from '../core/settlement.ts';
import { cleanName } from '../core/spent-by.ts';
import { cacheWritesOf, NO_PARTS, type TokenUsage } from '../core/usage.ts';
import { NAME_COLUMNS } from './names.ts';

/** A request in flight, as it is stored. */
export interface HoldRow {
  readonly requestId: string;
  readonly keyId: string;
  readonly model: string;
  readonly admittedAtMs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly holdNanos: Nanos;
  /** The price used for the hold. */
  readonly price?: string | undefined;
  /**
   * Ids of the levels that the request is booked to in addition to its key, innermost first. Undefined if it has no other
   * levels.
   */
  readonly levels?: readonly string[] | undefined;
  /** The end user named by the request, in case no settlement records one. */
  readonly user?: string | undefined;
}

/** Level ids in their stored form. */
export const LEVELS = {
  column: 'levels',
  type: 'text',
  flat: (levels: readonly string[] | undefined) => (levels === undefined ? null : JSON.stringify(levels)),
  full: (levels: string | null) => (levels === null ? undefined : (JSON.parse(levels) as string[])),
} as const;

/** An end user in the form that reports show. */
export const HELD_FOR = {
  column: 'end_user',
  type: 'text',
  flat: (user: string | undefined) => cleanName(user) || null,
  full: (name: string | null) => name ?? undefined,
} as const;

export const HOLD = new Layout<HoldRow>({
  requestId: 'text',
  keyId: 'text',
  model: 'text',
  admittedAtMs: 'number',
  inputTokens: 'number',
  outputTokens: 'number',
  holdNanos: 'nanos',
  price: 'text',
  levels: LEVELS,
  user: HELD_FOR,
});

/** Of the usage parts only cache writes are stored; the cost is already known. */
const CACHE_WRITES = {
  column: 'cache_write_tokens',
  type: 'number',
  flat: (parts: TokenUsage['parts']) => cacheWritesOf({ parts }),
  full: (tokens: number) => (tokens > 0 ? { ...NO_PARTS, cacheWriteTokens: tokens } : undefined),
} as const;

/** A name of `SpentBy`: empty in memory, NULL in the journal if the request has none. */
function nameIn(column: string) {
  const flat = (name: string | undefined) => name || null;
  return { column, type: 'text', flat, full: (name: string | null) => name ?? '' } as const;
}

/** The settlement of a request. Its last columns are NULL in the journal if the client sent no names. */
export const SETTLEMENT = new Layout<Settlement>({
  requestId: 'text',
  outcome: 'text',
  source: 'text',
  served: { model: 'text', upstream: 'text', attempts: 'number' },
  usage: { promptTokens: 'number', cachedTokens: 'number', parts: CACHE_WRITES, completionTokens: 'number' },
  costNanos: 'nanos',
  completionId: 'text',
  firstByteMs: 'number',
  failure: {
    reason: { column: 'failure_reason', type: 'text' },
    status: { column: 'failure_status', type: 'number' },
    message: { column: 'failure_message', type: 'text' },
  },
  price: 'text',
  spentBy: {
    user: nameIn(NAME_COLUMNS.user),
    tag: nameIn(NAME_COLUMNS.tag),
    app: nameIn(NAME_COLUMNS.app),
  },
});

/** The journal columns that a settlement fills: its own fields, then the fields of the request and its hold. */
export const SETTLED_COLUMNS: readonly Column[] = [
  ...SETTLEMENT.columns,
  { name: 'key_id', type: 'text' },
  { name: 'admitted_at_ms', type: 'number' },
  { name: 'settled_at_ms', type: 'number' },
  { name: 'hold_nanos', type: 'nanos' },
  /** NULL unless a different model served the request. */
  { name: 'requested_model', type: 'text' },
  { name: 'levels', type: 'text' },
];

/** All columns of the journal, in both stores. */
export const JOURNAL_COLUMNS: readonly Column[] = [
  ...SETTLED_COLUMNS,
  { name: 'id', type: 'number' },
  { name: 'corrected_at_ms', type: 'number' },
];

/** A request that ended recently. A restart rebuilds the windows from these. */
export interface RecentEntry {
  readonly keyId: string;
  readonly admittedAtMs: number;
  readonly settledAtMs: number;
  /** Input and output tokens. */
  readonly tokens: number;
  /** As in its hold. */
  readonly levels?: readonly string[] | undefined;
}
