/** Commands as a batch for the database. Pure. */

import { invariant } from '../../core/invariant.ts';
import type { Settlement } from '../../core/settlement.ts';
import { type Batch, emptyBatch } from '../../state/postgres/batch.ts';
import type { KnownKey } from '../../state/postgres/ledger-store.ts';
import type { AdmissionRequest } from '../ledger.ts';
import type { Command } from '../protocol.ts';

/** A command whose key is known, and the positions of its parts in the batch. */
export type Placed =
  | { readonly kind: 'settle'; readonly key: number }
  | { readonly kind: 'grow'; readonly key: number; readonly position: number }
  | { readonly kind: 'admit'; readonly key: number; readonly ask: number; readonly request: AdmissionRequest }
  | { readonly kind: 'listing'; readonly key: number; readonly ask: number; readonly keyId: string }
  | { readonly kind: 'identity'; readonly key: number; readonly ask: number; readonly known: KnownKey }
  | {
      readonly kind: 'forecast';
      readonly key: number;
      /** One for each request. */
      readonly asks: readonly number[];
      readonly known: KnownKey;
    }
  | { readonly kind: 'unknown_key'; readonly command: Command }
  | { readonly kind: 'other' };

/** Who a command acts for: the key of its open request, or that with its hash. */
export interface KeyLookup {
  /** Undefined if there is no such key. */
  ofId(keyId: string): KnownKey | undefined;
  ofHash(keyHash: string): KnownKey | undefined;
  /** Undefined if the request is not open. */
  ofRequest(requestId: string): string | undefined;
  /** When an open request was admitted, in milliseconds since 1970; undefined if it is not open. */
  admittedAtMs(requestId: string): number | undefined;
}

export interface PlacedBatch {
  readonly batch: Batch;
  readonly placed: readonly Placed[];
}

/** The id of the key of a command; undefined if it has none, or none is known. */
function keyOfCommand(command: Command, lookup: KeyLookup): string | undefined {
  switch (command.kind) {
    case 'admit':
      return lookup.ofHash(command.request.keyHash)?.id;
    case 'identify':
    case 'admit_listing':
      return lookup.ofHash(command.keyHash)?.id;
    case 'forecast':
      return lookup.ofId(command.question.keyId)?.id;
    case 'settle':
      return lookup.ofRequest(command.settlement.requestId);
    case 'grow':
      return lookup.ofRequest(command.growth.requestId);
    case 'free_slot':
      return lookup.ofRequest(command.requestId);
    default:
      return undefined;
  }
}

/** Sorts commands into the columns of a batch. */
export function place(commands: readonly Command[], lookup: KeyLookup): PlacedBatch {
  const keyIds = commands.map((command) => keyOfCommand(command, lookup));
  const keys = [...new Set(keyIds.filter((id) => id !== undefined))].sort();
  const position = new Map(keys.map((id, index) => [id, index + 1]));
  const batch = emptyBatch(keys, commands.some(wantsDetails));
  const placed = commands.map((command, index): Placed => {
    const keyId = keyIds[index];
    const key = keyId === undefined ? undefined : (position.get(keyId) as number);
    return placeOne(command, key, keyId, batch, lookup);
  });
  return { batch, placed };
}

function wantsDetails(command: Command): boolean {
  return (
    command.kind === 'identify' ||
    command.kind === 'forecast' ||
    command.kind === 'admit_listing' ||
    (command.kind === 'admit' && command.request.fallbacks !== undefined)
  );
}

function placeOne(
  command: Command,
  key: number | undefined,
  keyId: string | undefined,
  batch: Batch,
  lookup: KeyLookup,
): Placed {
  if (key === undefined || keyId === undefined) {
    invariant(
      command.kind !== 'settle' && command.kind !== 'grow',
      () => `a command to ${command.kind} names a request that is not open: it was settled twice or never admitted`,
    );
    const asks = ['admit', 'identify', 'admit_listing', 'forecast'].includes(command.kind);
    return asks ? { kind: 'unknown_key', command } : { kind: 'other' };
  }
  switch (command.kind) {
    case 'settle':
      batch.settlements.push(command.settlement);
      addNames(batch, command.settlement, lookup);
      return { kind: 'settle', key };
    case 'grow':
      return { kind: 'grow', key, position: batch.growths.push({ ...command.growth, key }) - 1 };
    case 'admit':
      return { kind: 'admit', key, ask: addAdmission(batch, command.request, key), request: command.request };
    case 'admit_listing':
      return { kind: 'listing', key, ask: addQuestion(batch, 1, key, 0n), keyId };
    case 'identify': {
      // The same twice: for a request that costs something, and for a free one.
      const ask = addQuestion(batch, 2, key, 1n);
      addQuestion(batch, 2, key, 0n);
      return { kind: 'identity', key, ask, known: lookup.ofHash(command.keyHash) as KnownKey };
    }
    case 'forecast': {
      const asks = command.question.requests.map((request) => addAdmission(batch, request, key, 2));
      return { kind: 'forecast', key, asks, known: lookup.ofId(keyId) as KnownKey };
    }
    case 'free_slot':
      batch.freed.push(command.requestId);
      return { kind: 'other' };
    default:
      return { kind: 'other' };
  }
}

function addNames({ named }: Batch, { requestId, spentBy }: Settlement, lookup: KeyLookup): void {
  const admittedAtMs = lookup.admittedAtMs(requestId);
  if (spentBy !== undefined && admittedAtMs !== undefined) named.push({ requestId, admittedAtMs, ...spentBy });
}

/** Of kind 2 it takes nothing. */
function addAdmission({ asks }: Batch, request: AdmissionRequest, key: number, kind: 0 | 2 = 0): number {
  return asks.push({ ...request, price: request.price, kind, key }) - 1;
}

function addQuestion({ asks }: Batch, kind: 1 | 2, key: number, holdNanos: bigint): number {
  const nothing = { reservedTokens: 0, inputTokens: 0, outputTokens: 0, holdNanos, price: undefined };
  return asks.push({ kind, requestId: '', key, model: undefined, ...nothing }) - 1;
}
