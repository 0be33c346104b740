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
  readonly o_ended: string[];
}

/** One entry. What it asks for is JSON of the ledger's, and so are the facts. */
export type EntryRow = readonly [
  seq: number,
  atUs: number,
  nodeId: number,
  commands: unknown,
  facts: unknown,
  writtenSeq: number,
  decided: string | null,
  digest: string | null,
];

export interface RebuildRow {
  readonly o_seq: string;
  readonly o_us: string;
  readonly o_balance: string;
  readonly o_rules: number;
  readonly o_holds: string | null;
  readonly o_recent: string | null;
  readonly o_listings: string | null;
  readonly o_unwritten: string | null;
  readonly o_facts: string | null;
  readonly o_has_others: boolean;
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

/** An entry whose decisions are not written. */
export interface Unwritten {
  readonly seq: bigint;
  readonly atUs: number;
  readonly nodeId: number;
  readonly commands: unknown;
}

/** A request in flight at a gateway. */
export interface OpenHold extends DecidedHold {
  readonly nodeId: number;
  /** From when it counts in the window: not its admission, if the clock was ahead then. */
  readonly countedUs: bigint;
}

/** All that gateways have in memory, as of one entry of the log. */
export interface Rebuilt {
  readonly seq: bigint;
  readonly atUs: bigint;
  readonly balanceNanos: Nanos;
  /** The number of the rules that entries after this one are decided by. */
  readonly rules: number;
  readonly holds: readonly OpenHold[];
  readonly recent: readonly RecentRequest[];
  readonly listings: readonly Listed[];
  readonly unwritten: readonly Unwritten[];
  readonly facts: unknown;
  /** Whether another gateway lives. */
  readonly hasOthers: boolean;
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
];

export function rebuiltOf(row: RebuildRow): Rebuilt {
  return {
    seq: BigInt(row.o_seq),
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
    unwritten: listIn<[number, number, number, unknown]>(row.o_unwritten).map(([seq, atUs, nodeId, commands]) => ({
      seq: BigInt(seq),
      atUs,
      nodeId,
      commands,
    })),
    facts: row.o_facts === null ? null : JSON.parse(row.o_facts),
    hasOthers: row.o_has_others,
  };
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
  };
}

function listIn<T>(json: string | null): T[] {
  return json === null ? [] : (JSON.parse(json) as T[]);
}
