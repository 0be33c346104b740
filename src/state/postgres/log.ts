/** Rows of the log, and what a gateway that begins to follow it reads, as the database answers with them. Pure. */
import type { Nanos } from '../../core/money.ts';
import type { DecidedHold, Listed } from './batch.ts';

/** What `append` returns: bigints come as text. */
export interface LogRow {
  readonly o_us: string | null;
  readonly o_seq: string;
  /** A JSON array of `EntryRow`. */
  readonly o_log: string | null;
  readonly o_facts: string | null;
}

/** One entry. What it asks for is JSON of the ledger's, and so are the facts. `seenSeq`: the last that its gateway had followed. */
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

/** Either all but facts, or facts alone. */
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

/** A request that has ended lately, in microseconds since 1970. */
export interface RecentRequest {
  readonly keyId: string;
  /** Null if it is in no window of requests. */
  readonly admittedUs: number | null;
  readonly settledUs: number;
  readonly tokens: number;
  /** As in its hold. */
  readonly levels?: readonly string[] | undefined;
}

/** An entry whose decisions are recorded, and not written yet. */
export interface Unwritten {
  readonly seq: bigint;
  readonly atUs: bigint;
  readonly nodeId: number;
  readonly commands: unknown;
  readonly decided: unknown;
}

/** An entry of the tail, and the facts from before it where it is an edit. */
export type TailRow = readonly [entry: EntryRow, before: unknown];

/** A request that an entry of the tail has ended, as it was before. `said`: what the entry says of the rest. */
export interface TailEnd extends Omit<OpenHold, 'inputTokens' | 'outputTokens' | 'reservedTokens' | 'hasSlot'> {
  readonly seq: bigint;
  readonly said: unknown;
}

/** A request in flight at a gateway. */
export interface OpenHold extends DecidedHold {
  readonly nodeId: number;
  /** From when it counts in the window: not its admission, if the clock was ahead then. */
  readonly countedUs: bigint;
}

/**
 * All that gateways have in memory, as of one entry of the log, and the tail of the log: the entries of which is not
 * recorded how they were decided. Holds and windows are those from before the tail, and have nothing of `unwritten`.
 */
export interface Rebuilt {
  /** Of the last entry. */
  readonly seq: bigint;
  readonly atUs: bigint;
  readonly balanceNanos: Nanos;
  /** The number of the rules that entries after this one are decided by. */
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

/** The facts in a row; undefined in the one that has all else. */
export function factsIn(row: RebuildRow): unknown {
  return row.o_seq === null ? JSON.parse(row.o_facts ?? '[]') : undefined;
}

/** Of the row that has no facts. */
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
