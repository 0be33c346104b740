/** What gateways send with an entry of the log as the database takes it: arrays, one for each column. */
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

/** The same, each of them an array. */
export function arraysOf(columns: readonly Column[], prefix: string): string {
  return typed(columns, prefix, '[]');
}

const ESCAPED = /[\\"]/g;

/**
 * Records as one array for each column, as the database reads it. pg would escape and quote numbers as well, which takes
 * four times as long (4 instead of 1 µs of CPU for a request with its hold and its end, Node 26).
 */
export function arraysFor<T>(layout: Layout<T>, records: readonly T[]): string[] {
  const rows = records.map((record) => layout.values(record));
  return layout.columns.map((_, at) => `{${rows.map((row) => elementOf(row[at] as Value)).join(',')}}`);
}

function elementOf(value: Value): string {
  if (value === null) return 'NULL';
  return typeof value === 'string' ? `"${value.replace(ESCAPED, '\\$&')}"` : String(value);
}

/** A request in flight, as its hold is stored. */
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

/** What a request holds after it has grown. */
export type GrownHold = Pick<DecidedHold, 'requestId' | 'outputTokens' | 'reservedTokens' | 'holdNanos'>;

export const GROWN_HOLD = new Layout<GrownHold>({
  requestId: 'text',
  outputTokens: 'number',
  reservedTokens: 'number',
  holdNanos: 'nanos',
});

/** Listings of a key at one moment. */
export interface Listed {
  readonly keyId: string;
  readonly atUs: bigint;
  readonly listings: number;
}

export const LISTED = new Layout<Listed>({ keyId: 'text', atUs: 'nanos', listings: 'number' });

/** The columns of what was decided, as `append` names them. */
export const BATCH_COLUMNS: readonly Column[] = [
  ...prefixed(DECIDED_HOLD.columns, 'h_'),
  ...prefixed(GROWN_HOLD.columns, 'g_'),
  ...prefixed(LISTED.columns, 'l_'),
];

function prefixed(columns: readonly Column[], prefix: string): Column[] {
  return columns.map(({ name, type }) => ({ name: prefix + name, type }));
}

/** What was decided on an entry and is to be written. */
export interface Decided {
  readonly seq: bigint;
  /** How it was decided, one sign for each question; and a sum over the state after it. */
  readonly decided: string;
  readonly digest: string;
  readonly holds: readonly DecidedHold[];
  readonly grown: readonly GrownHold[];
  readonly listings: readonly Listed[];
}

/** What a gateway adds to the log. */
export interface Addition {
  /** JSON; undefined where it asks for nothing. */
  readonly commands: string | undefined;
  /** Whether there is something to decide by the clock, and whether decisions will have to be written. */
  readonly decides: boolean;
  readonly writes: boolean;
  /** How it has decided on entries of others, as JSON: what is not known to be recorded. */
  readonly recorded: string | null;
  /** The keys whose facts are wanted. */
  readonly keyIds: readonly string[];
  /** What it has decided on its last entry; undefined if that is written. */
  readonly decided: Decided | undefined;
  readonly freed: readonly string[];
  /** Admissions that were never answered. */
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

/** Whether somebody waits until it is on the disk. */
export function isAwaited({ settlements, writes }: Addition): boolean {
  return settlements.length > 0 || writes;
}

/** The arguments of `append` after the node's and its place in the log, in their order. */
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

/** Number, decisions and digest, and the columns of what is to be written. */
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

/** How many arguments those are. */
export const DECIDED_ARGUMENTS = NOTHING_DECIDED.length;
/** How many arguments `append` has, with the five of the node and its place. */
export const ARGUMENTS = 12 + DECIDED_ARGUMENTS + SETTLEMENT.columns.length;
