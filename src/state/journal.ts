/** What the ledger writes and reads back of single requests. Each field is declared here, and messages, columns and moves follow. */
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
  /** Which price it was held by. */
  readonly price?: string | undefined;
  /** The ids of the levels that it is booked to besides its key, from inside out. Undefined if there are none. */
  readonly levels?: readonly string[] | undefined;
  /** The end user that its request names, for the case that no settlement names it. */
  readonly user?: string | undefined;
}

/** The ids of levels, as they are stored. */
export const LEVELS = {
  column: 'levels',
  type: 'text',
  flat: (levels: readonly string[] | undefined) => (levels === undefined ? null : JSON.stringify(levels)),
  full: (levels: string | null) => (levels === null ? undefined : (JSON.parse(levels) as string[])),
} as const;

/** An end user, as reports show the name. */
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

/** Of the parts of its usage only what was written to a cache: nothing else is kept, since the cost is known. */
const CACHE_WRITES = {
  column: 'cache_write_tokens',
  type: 'number',
  flat: (parts: TokenUsage['parts']) => cacheWritesOf({ parts }),
  full: (tokens: number) => (tokens > 0 ? { ...NO_PARTS, cacheWriteTokens: tokens } : undefined),
} as const;

/** A name of `SpentBy`, which is empty where there is none. */
function nameIn(column: string) {
  const flat = (name: string | undefined) => name || null;
  return { column, type: 'text', flat, full: (name: string | null) => name ?? '' } as const;
}

/** How a request has ended: all that its settlement says. Where nobody is named, the last columns are NULL in the journal. */
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

/** The columns of the journal that a settlement fills: its own fields, then those of the request and its hold. */
export const SETTLED_COLUMNS: readonly Column[] = [
  ...SETTLEMENT.columns,
  { name: 'key_id', type: 'text' },
  { name: 'admitted_at_ms', type: 'number' },
  { name: 'settled_at_ms', type: 'number' },
  { name: 'hold_nanos', type: 'nanos' },
  /** NULL unless another model has served the request. */
  { name: 'requested_model', type: 'text' },
  { name: 'levels', type: 'text' },
];

/** All columns of the journal, in both stores. */
export const JOURNAL_COLUMNS: readonly Column[] = [
  ...SETTLED_COLUMNS,
  { name: 'id', type: 'number' },
  { name: 'corrected_at_ms', type: 'number' },
];

/** A request that ended recently. After a restart the windows are rebuilt from these. */
export interface RecentEntry {
  readonly keyId: string;
  readonly admittedAtMs: number;
  readonly settledAtMs: number;
  /** Input and output. */
  readonly tokens: number;
  /** As in its hold. */
  readonly levels?: readonly string[] | undefined;
}
