/** The arguments of a batch as the database takes them: arrays, one for each column. */
import { type NameColumns, noNames } from './name-columns.ts';

/** Settlements of open requests. */
export interface SettlementColumns {
  readonly id: string[];
  readonly outcome: string[];
  readonly source: string[];
  /** The model that served; null for the one that was asked for. */
  readonly model: (string | null)[];
  readonly promptTokens: number[];
  readonly cachedTokens: number[];
  readonly cacheWriteTokens: number[];
  readonly completionTokens: number[];
  readonly costNanos: bigint[];
  readonly completionId: (string | null)[];
  readonly firstByteMs: (number | null)[];
  readonly upstream: (string | null)[];
  readonly attempts: (number | null)[];
  readonly failureReason: (string | null)[];
  readonly failureStatus: (number | null)[];
  readonly failureMessage: (string | null)[];
  /** Null for that of the hold. */
  readonly price: (string | null)[];
}

/** `key` is the position of the key among those of the batch, from 1. */
export interface GrowthColumns {
  readonly id: string[];
  readonly key: number[];
  readonly outputTokens: number[];
  readonly holdNanos: bigint[];
}

/** 0 asks for an admission, 1 for one to the list of models, 2 whether a request could be admitted. */
export type AskKind = 0 | 1 | 2;

export interface AskColumns {
  readonly kind: AskKind[];
  readonly id: string[];
  readonly key: number[];
  /** Null asks for no model in particular. */
  readonly model: (string | null)[];
  readonly reservedTokens: number[];
  readonly inputTokens: number[];
  readonly outputTokens: number[];
  readonly holdNanos: bigint[];
  readonly price: (string | null)[];
}

export interface Batch {
  /** The ids of the keys, sorted. */
  readonly keys: readonly string[];
  readonly settlements: SettlementColumns;
  readonly names: NameColumns;
  readonly freed: string[];
  readonly growths: GrowthColumns;
  readonly asks: AskColumns;
  /** Whether names and allowlists of the keys are wanted. */
  readonly details: boolean;
}

/** Limits of keys that have none of their own. */
export interface BatchSettings {
  readonly rpm: number;
  readonly tpm: number;
  readonly concurrency: number;
  readonly modelsRpm: number;
  readonly creditEnforced: boolean;
}

/** A batch without commands. The columns are in the order of `decide_batch`'s arguments. */
export function emptyBatch(keys: readonly string[], details: boolean): Batch {
  return {
    keys,
    settlements: {
      id: [],
      outcome: [],
      source: [],
      model: [],
      promptTokens: [],
      cachedTokens: [],
      cacheWriteTokens: [],
      completionTokens: [],
      costNanos: [],
      completionId: [],
      firstByteMs: [],
      upstream: [],
      attempts: [],
      failureReason: [],
      failureStatus: [],
      failureMessage: [],
      price: [],
    },
    names: noNames(),
    freed: [],
    growths: { id: [], key: [], outputTokens: [], holdNanos: [] },
    asks: {
      kind: [],
      id: [],
      key: [],
      model: [],
      reservedTokens: [],
      inputTokens: [],
      outputTokens: [],
      holdNanos: [],
      price: [],
    },
    details,
  };
}

/** The arguments of `decide_batch` after the node's, in their order. */
export function argumentsOf(batch: Batch, settings: BatchSettings): unknown[] {
  const { settlements, growths, asks } = batch;
  return [
    settings.rpm,
    settings.tpm,
    settings.concurrency,
    settings.modelsRpm,
    settings.creditEnforced,
    batch.details,
    batch.keys,
    ...Object.values(settlements),
    batch.freed,
    ...Object.values(growths),
    ...Object.values(asks),
  ];
}
