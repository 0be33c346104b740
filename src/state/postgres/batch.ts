/** Encodes a gateway's addition to the log as the arguments of the database functions: one array per column. */
import { type Column, type FieldType, Layout, type Value } from '../../core/layout.ts';
import type { Nanos } from '../../core/money.ts';
import type { Settlement } from '../../core/settlement.ts';
import { HELD_FOR, LEVELS, SETTLEMENT } from '../journal.ts';

export const SQL_TYPES: Readonly<Record<FieldType, string>> = {
  text: 'text',
  number: 'bigint',
  nanos: 'bigint',
  flag: 'boolean',
};

/** Parameters of a function, one for each column. */
export function typed(columns: readonly Column[], prefix: string, suffix = ''): string {
  return columns.map(({ name, type }) => `${prefix}${name} ${SQL_TYPES[type]}${suffix}`).join(', ');
}

/** The same parameters as arrays. */
export function arraysOf(columns: readonly Column[], prefix: string): string {
  return typed(columns, prefix, '[]');
}

const ESCAPED = /[\\"]/g;

/**
 * Encodes records as one PostgreSQL array literal per column. pg would escape and quote numbers as well, which takes four
 * times as long (4 instead of 1 µs of CPU for a request with its hold and its end, Node 26).
 */
export function arraysFor<T>(layout: Layout<T>, records: readonly T[]): string[] {
  const rows = records.map((record) => layout.values(record));
  return layout.columns.map((_, at) => `{${rows.map((row) => elementOf(row[at] as Value)).join(',')}}`);
}

function elementOf(value: Value): string {
  if (value === null) return 'NULL';
  return typeof value === 'string' ? `"${value.replace(ESCAPED, '\\$&')}"` : String(value);
}

/** A request in flight, with the fields of its stored hold. */
export interface DecidedHold {
  readonly requestId: string;
  readonly keyId: string;
  readonly model: string;
  readonly admittedUs: bigint;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reservedTokens: number;
  readonly holdNanos: Nanos;
  readonly hasSlot: boolean;
  readonly price: string | undefined;
  /** As in `HoldRow`. */
  readonly levels: readonly string[] | undefined;
  readonly user?: string | undefined;
}

export const DECIDED_HOLD = new Layout<DecidedHold>({
  requestId: 'text',
  keyId: 'text',
  model: 'text',
  admittedUs: 'nanos',
  inputTokens: 'number',
  outputTokens: 'number',
  reservedTokens: 'number',
  holdNanos: 'nanos',
  hasSlot: 'flag',
  price: 'text',
  levels: LEVELS,
  user: HELD_FOR,
});

/** A hold after it has grown. */
export type GrownHold = Pick<DecidedHold, 'requestId' | 'outputTokens' | 'reservedTokens' | 'holdNanos'>;

export const GROWN_HOLD = new Layout<GrownHold>({
  requestId: 'text',
  outputTokens: 'number',
  reservedTokens: 'number',
  holdNanos: 'nanos',
});

/** Listings of a key at one point in time. */
export interface Listed {
  readonly keyId: string;
  readonly atUs: bigint;
  readonly listings: number;
}

export const LISTED = new Layout<Listed>({ keyId: 'text', atUs: 'nanos', listings: 'number' });

/** The columns of decisions, with the prefixes that `append` uses. */
export const BATCH_COLUMNS: readonly Column[] = [
  ...prefixed(DECIDED_HOLD.columns, 'h_'),
  ...prefixed(GROWN_HOLD.columns, 'g_'),
  ...prefixed(LISTED.columns, 'l_'),
];

function prefixed(columns: readonly Column[], prefix: string): Column[] {
  return columns.map(({ name, type }) => ({ name: prefix + name, type }));
}

/** The decisions on an entry, to be written to the tables. */
export interface Decided {
  readonly seq: bigint;
  /** The decisions, one character per command; and a checksum of the state after the entry. */
  readonly decided: string;
  readonly digest: string;
  readonly holds: readonly DecidedHold[];
  readonly grown: readonly GrownHold[];
  readonly listings: readonly Listed[];
}

/** A gateway's addition to the log. */
export interface Addition {
  /** Commands as JSON; undefined without any. */
  readonly commands: string | undefined;
  /** Whether the addition needs decisions by the clock, and whether those decisions must be written. */
  readonly decides: boolean;
  readonly writes: boolean;
  /** This gateway's decisions on entries of other gateways, as JSON, where they may not be recorded yet. */
  readonly recorded: string | null;
  /** Keys whose facts the gateway requests. */
  readonly keyIds: readonly string[];
  /** The decisions on its last entry; undefined if they are written. */
  readonly decided: Decided | undefined;
  readonly freed: readonly string[];
  /** Admissions without an answer, which are revoked. */
  readonly givenBack: readonly string[];
  readonly settlements: readonly Settlement[];
}

export const NOTHING_ADDED: Addition = {
  commands: undefined,
  decides: false,
  writes: false,
  recorded: null,
  keyIds: [],
  decided: undefined,
  freed: [],
  givenBack: [],
  settlements: [],
};

/** Whether a client waits until the addition is durable. */
export function isAwaited({ settlements, writes }: Addition): boolean {
  return settlements.length > 0 || writes;
}

/** The arguments of `append` after the node and its log position, in order. */
export function argumentsOf({
  commands,
  decides,
  writes,
  recorded,
  keyIds,
  decided,
  freed,
  givenBack,
  settlements,
}: Addition): unknown[] {
  return [
    commands ?? null,
    decides,
    writes,
    recorded,
    keyIds,
    ...(decided === undefined ? NOTHING_DECIDED : decidedArguments(decided)),
    freed,
    givenBack,
    ...arraysFor(SETTLEMENT, settlements),
  ];
}

/** The sequence number, decisions and digest, then the columns to write. */
export function decidedArguments({ seq, decided, digest, holds, grown, listings }: Decided): unknown[] {
  return [
    seq,
    decided,
    digest,
    ...arraysFor(DECIDED_HOLD, holds),
    ...arraysFor(GROWN_HOLD, grown),
    ...arraysFor(LISTED, listings),
  ];
}

const NOTHING_DECIDED: unknown[] = [null, null, null, ...BATCH_COLUMNS.map(() => [])];

/** Number of arguments for decisions. */
export const DECIDED_ARGUMENTS = NOTHING_DECIDED.length;
/** Number of arguments of `append`, including five for the node and its position. */
export const ARGUMENTS = 12 + DECIDED_ARGUMENTS + SETTLEMENT.columns.length;
