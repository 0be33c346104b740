/** The arguments of a batch as the database takes them: arrays, one for each column. */
import { type Column, type FieldType, Layout } from '../../core/layout.ts';
import type { Nanos } from '../../core/money.ts';
import type { Settlement } from '../../core/settlement.ts';
import type { SpentBy } from '../../core/spent-by.ts';
import { END } from '../journal.ts';

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

/** Who a request was for that has ended. Entered on its own: requests that do not say so need not pay for it. */
interface NamedRequest extends SpentBy {
  readonly requestId: string;
  readonly admittedAtMs: number;
}

const NAMED = new Layout<NamedRequest>({
  requestId: 'text',
  admittedAtMs: 'number',
  user: 'text',
  tag: 'text',
  app: 'text',
});

/** An open request that may hold more. `key` is the position of its key among those of the batch, from 1. */
export interface BatchGrowth {
  readonly requestId: string;
  readonly key: number;
  readonly outputTokens: number;
  readonly holdNanos: Nanos;
}

export const GROWTH = new Layout<BatchGrowth>({
  requestId: 'text',
  key: 'number',
  outputTokens: 'number',
  holdNanos: 'nanos',
});

/** A request to admit; or a question, which takes nothing. */
export interface BatchAsk {
  /** 0 asks for an admission, 1 for one to the list of models, 2 whether a request could be admitted. */
  readonly kind: 0 | 1 | 2;
  readonly requestId: string;
  readonly key: number;
  /** Undefined asks for no model in particular. */
  readonly model: string | undefined;
  readonly reservedTokens: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly holdNanos: Nanos;
  readonly price: string | undefined;
}

export const ASK = new Layout<BatchAsk>({
  kind: 'number',
  requestId: 'text',
  key: 'number',
  model: 'text',
  reservedTokens: 'number',
  inputTokens: 'number',
  outputTokens: 'number',
  holdNanos: 'nanos',
  price: 'text',
});

export interface Batch {
  /** The ids of the keys, sorted. */
  readonly keys: readonly string[];
  readonly settlements: Settlement[];
  /** Those of their requests that say who they were for. */
  readonly named: NamedRequest[];
  readonly freed: string[];
  readonly growths: BatchGrowth[];
  readonly asks: BatchAsk[];
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

/** A batch without commands. */
export function emptyBatch(keys: readonly string[], details: boolean): Batch {
  return { keys, settlements: [], named: [], freed: [], growths: [], asks: [], details };
}

/** The arguments of `decide_batch` after the node's, in their order. */
export function argumentsOf(batch: Batch, settings: BatchSettings): unknown[] {
  return [
    settings.rpm,
    settings.tpm,
    settings.concurrency,
    settings.modelsRpm,
    settings.creditEnforced,
    batch.details,
    batch.keys,
    ...END.transposed(batch.settlements),
    batch.freed,
    ...GROWTH.transposed(batch.growths),
    ...ASK.transposed(batch.asks),
  ];
}

/** How many arguments `decide_batch` has, with the three of the node. */
export const ARGUMENTS = 11 + END.columns.length + GROWTH.columns.length + ASK.columns.length;

/** The arguments of `enter_names` after the requests that have ended, in their order; none if no request has a name. */
export function nameArgumentsOf({ named }: Batch): unknown[] {
  return named.length === 0 ? [] : NAMED.transposed(named);
}
