/** Parses rows of the log, and the data from which a starting gateway rebuilds its memory. Pure. */
import type { Nanos } from '../../core/money.ts';
import type { DecidedHold, Listed } from './batch.ts';

/** A row of `append`. Bigints are text. */
export interface LogRow {
  readonly o_us: string | null;
  readonly o_seq: string;
  /** A JSON array of `EntryRow`. */
  readonly o_log: string | null;
  readonly o_facts: string | null;
}

/** One entry. Its commands and facts are JSON of the ledger. `seenSeq`: the last entry that its gateway had applied. */
export type EntryRow = readonly [
  seq: number,
  atUs: number,
  nodeId: number,
  commands: unknown,
  facts: unknown,
  writtenSeq: number,
  decided: string | null,
  digest: string | null,
  seenSeq: number,
];

/** A row contains either facts only, or everything else. */
export interface RebuildRow {
  readonly o_seq: string | null;
  readonly o_us: string;
  readonly o_balance: string;
  readonly o_rules: number;
  readonly o_holds: string | null;
  readonly o_recent: string | null;
  readonly o_listings: string | null;
  readonly o_unwritten: string | null;
  readonly o_ended: string | null;
  readonly o_tail: string | null;
  readonly o_facts: string | null;
}

/** A recently ended request; times in microseconds since 1970. */
export interface RecentRequest {
  readonly keyId: string;
  /** Null if it counts in no window of requests. */
  readonly admittedUs: number | null;
  readonly settledUs: number;
  readonly tokens: number;
  /** As in its hold. */
  readonly levels?: readonly string[] | undefined;
}

/** An entry with recorded but unwritten decisions. */
export interface Unwritten {
  readonly seq: bigint;
  readonly atUs: bigint;
  readonly nodeId: number;
  readonly commands: unknown;
  readonly decided: unknown;
}

/** An entry of the tail; for an edit also the facts before it. */
export type TailRow = readonly [entry: EntryRow, before: unknown];

/** A request ended by an entry of the tail, in its earlier state. `said`: the settlement in the entry. */
export interface TailEnd extends Omit<OpenHold, 'inputTokens' | 'outputTokens' | 'reservedTokens' | 'hasSlot'> {
  readonly seq: bigint;
  readonly said: unknown;
}

/** A request in flight at a gateway. */
export interface OpenHold extends DecidedHold {
  readonly nodeId: number;
  /** Start of its window entry. Differs from its admission if the clock was ahead then. */
  readonly countedUs: bigint;
}

/**
 * The memory of a gateway as of one log entry, plus the tail of the log: all entries from the first one without recorded
 * decisions. Holds and windows are from before the tail, without the effects of `unwritten`.
 */
export interface Rebuilt {
  /** The last entry. */
  readonly seq: bigint;
  readonly atUs: bigint;
  readonly balanceNanos: Nanos;
  /** The rules version for later entries. */
  readonly rules: number;
  readonly holds: readonly OpenHold[];
  readonly recent: readonly RecentRequest[];
  readonly listings: readonly Listed[];
  readonly unwritten: readonly Unwritten[];
  readonly ended: readonly TailEnd[];
  readonly tail: readonly TailRow[];
}

type RecentValues = [string, number | null, number, number, string[] | null];

type HoldValues = [
  string,
  number,
  string,
  string,
  number,
  number,
  number,
  number,
  string,
  boolean,
  string | null,
  number,
  string[] | null,
  string | null,
];

/** Returns the facts of a row; undefined for the row with everything else. */
export function factsIn(row: RebuildRow): unknown {
  return row.o_seq === null ? JSON.parse(row.o_facts ?? '[]') : undefined;
}

/** Parses the row without facts. */
export function rebuiltOf(row: RebuildRow): Rebuilt {
  return {
    seq: BigInt(row.o_seq as string),
    atUs: BigInt(row.o_us),
    balanceNanos: BigInt(row.o_balance),
    rules: row.o_rules,
    holds: listIn<HoldValues>(row.o_holds).map(holdOf),
    recent: listIn<RecentValues>(row.o_recent).map(([keyId, admittedUs, settledUs, tokens, levels]) => {
      return { keyId, admittedUs, settledUs, tokens, levels: levels ?? undefined };
    }),
    listings: listIn<[string, number, number]>(row.o_listings).map(([keyId, atUs, listings]) => ({
      keyId,
      atUs: BigInt(atUs),
      listings,
    })),
    unwritten: listIn<[number, number, number, unknown, unknown]>(row.o_unwritten).map(
      ([seq, atUs, nodeId, commands, decided]) => ({ seq: BigInt(seq), atUs: BigInt(atUs), nodeId, commands, decided }),
    ),
    ended: listIn<EndValues>(row.o_ended).map(endOf),
    tail: listIn<TailRow>(row.o_tail),
  };
}

type EndValues = [
  seq: number,
  said: unknown,
  requestId: string,
  nodeId: number,
  keyId: string,
  model: string,
  admittedUs: number,
  nanos: string,
  price: string | null,
  countedUs: number,
  levels: string[] | null,
];

function endOf(values: EndValues): TailEnd {
  const [seq, said, requestId, nodeId, keyId, model, admittedUs, nanos, price, countedUs, levels] = values;
  const hold = { requestId, nodeId, keyId, model, admittedUs: BigInt(admittedUs), holdNanos: BigInt(nanos) };
  const stored = { price: price ?? undefined, levels: levels ?? undefined, countedUs: BigInt(countedUs) };
  return { seq: BigInt(seq), said, ...hold, ...stored };
}

function holdOf(values: HoldValues): OpenHold {
  const [
    requestId,
    nodeId,
    keyId,
    model,
    admittedUs,
    inputTokens,
    outputTokens,
    reservedTokens,
    nanos,
    hasSlot,
    price,
    countedUs,
    levels,
    user,
  ] = values;
  const tokens = { inputTokens, outputTokens, reservedTokens };
  const hold = { requestId, keyId, model, admittedUs: BigInt(admittedUs), ...tokens, holdNanos: BigInt(nanos) };
  return {
    ...hold,
    nodeId,
    hasSlot,
    price: price ?? undefined,
    countedUs: BigInt(countedUs),
    levels: levels ?? undefined,
    user: user ?? undefined,
  };
}

function listIn<T>(json: string | null): T[] {
  return json === null ? [] : (JSON.parse(json) as T[]);
}
