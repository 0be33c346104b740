/** Sorts the commands of a batch: what goes into the log, and what takes nothing. Pure. */
import { invariant } from '../../core/invariant.ts';
import type { Settlement } from '../../core/settlement.ts';
import { userId } from '../../state/levels.ts';
import type { OpenRequest } from '../../state/postgres/ledger-store.ts';
import type { Growth } from '../ledger.ts';
import type { Command } from '../protocol.ts';
import type { End, EntryCommands, Question, Reserved } from './entry.ts';

/** Who commands act for. */
export interface Lookup {
  /** The id of the key of a command; undefined if there is no such key. */
  keyOf(command: Command): string | undefined;
  /** The counts of a key that are in flight at this gateway. */
  countsOf(keyId: string): number;
  /** A request that this process has admitted. */
  open(requestId: string): OpenRequest | undefined;
  /** What it has reserved; undefined if it is in flight no more as all have decided. */
  reserved(requestId: string): Reserved | undefined;
}

/** Places are those of the commands. */
export interface Placed {
  readonly entry: Omit<EntryCommands, 'tier'>;
  /** The places of what the entry has, in its order. */
  readonly ends: readonly number[];
  readonly growths: readonly number[];
  readonly questions: readonly number[];
  /** Settlements of requests that have ended for all. */
  readonly late: readonly number[];
  /** What takes nothing. */
  readonly others: readonly number[];
  readonly settlements: readonly Settlement[];
  /** Whose facts it takes: ids of keys, and of their end users where they are named. */
  readonly keyIds: readonly string[];
  /** Whether something is decided by the clock. */
  readonly decides: boolean;
  /** Whether nothing goes into the log, and whether nothing is asked either. */
  readonly isEmpty: boolean;
  readonly isTrivial: boolean;
}

const TRIVIAL: readonly Command['kind'][] = ['configure', 'end_count', 'count_refusal'];

export function place(commands: readonly Command[], indices: readonly number[], lookup: Lookup): Placed {
  const at: Record<'ends' | 'growths' | 'questions' | 'late' | 'others', number[]> = {
    ends: [],
    growths: [],
    questions: [],
    late: [],
    others: [],
  };
  const [settlements, ends, freed]: [Settlement[], End[], string[]] = [[], [], []];
  const [growths, questions]: [Growth[], Question[]] = [[], []];
  const [keyIds, counts]: [Set<string>, Map<string, number>] = [new Set(), new Map()];
  for (const index of indices) {
    const command = commands[index] as Command;
    const keyId = lookup.keyOf(command);
    if (keyId !== undefined) keyIds.add(askerIn(command, keyId));
    if (command.kind === 'settle') {
      const { settlement } = command;
      const open = openOf(lookup, command.kind, settlement.requestId);
      const reserved = lookup.reserved(settlement.requestId);
      keyIds.add(open.keyId);
      if (reserved === undefined) at.late.push(index);
      else {
        at.ends.push(index);
        settlements.push(settlement);
        ends.push({ ...settlement, reservedTokens: reserved.reservedTokens, hasSlot: reserved.hasSlot });
      }
    } else if (command.kind === 'grow') {
      openOf(lookup, command.kind, command.growth.requestId);
      at.growths.push(index);
      growths.push(command.growth);
    } else if (command.kind === 'free_slot') {
      if (lookup.reserved(command.requestId)?.hasSlot === true) freed.push(command.requestId);
    } else if (command.kind === 'admit' && keyId !== undefined) {
      at.questions.push(index);
      questions.push({ kind: 'admit', keyId, request: command.request });
    } else if (command.kind === 'admit_listing' && keyId !== undefined) {
      at.questions.push(index);
      const before = counts.get(keyId) ?? lookup.countsOf(keyId);
      if (command.countId !== undefined) counts.set(keyId, before + 1);
      questions.push({ kind: 'listing', keyId, counts: command.countId === undefined ? undefined : before });
    } else at.others.push(index);
  }
  const isEmpty = settlements.length + freed.length + growths.length + questions.length === 0;
  return {
    ...at,
    entry: { ends, freed, givenBack: [], growths, questions },
    settlements,
    keyIds: [...keyIds],
    decides: indices.some((index) => DECIDED.includes((commands[index] as Command).kind) && keyIds.size > 0),
    isEmpty,
    isTrivial: isEmpty && indices.every((index) => TRIVIAL.includes((commands[index] as Command).kind)),
  };
}

/** Who asks. */
export function askerIn(command: Command, keyId: string): string {
  const request =
    command.kind === 'admit' ? command.request : command.kind === 'forecast' ? command.question.requests[0] : undefined;
  return request?.user === undefined ? keyId : userId(keyId, request.user);
}

/** Windows need a clock that runs true. */
const DECIDED: readonly Command['kind'][] = ['admit', 'admit_listing', 'identify', 'forecast'];

function openOf({ open }: Lookup, kind: string, requestId: string): OpenRequest {
  const found = open(requestId);
  invariant(
    found !== undefined,
    () => `a command to ${kind} names request ${requestId}, which is not open: it was settled twice or never admitted`,
  );
  return found;
}
