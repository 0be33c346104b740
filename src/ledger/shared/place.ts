/** Sorts the commands of a batch into the part for the log and the rest, which takes no resources. Pure. */
import { invariant } from '../../core/invariant.ts';
import type { Settlement } from '../../core/settlement.ts';
import { userId } from '../../state/levels.ts';
import type { OpenRequest } from '../../state/postgres/ledger-store.ts';
import type { Growth } from '../ledger.ts';
import type { Command } from '../protocol.ts';
import type { End, EntryCommands, Question, Reserved } from './entry.ts';

/** Looks up keys and open requests of commands. */
export interface Lookup {
  /** The id of the key of a command; undefined for an unknown key. */
  keyOf(command: Command): string | undefined;
  /** The number of token counts of a key in flight at this gateway. */
  countsOf(keyId: string): number;
  /** A request admitted by this process. */
  open(requestId: string): OpenRequest | undefined;
  /** Its reservation; undefined if all gateways regard the request as ended. */
  reserved(requestId: string): Reserved | undefined;
}

/** A sorted batch. Numbers are indices of commands. */
export interface Placed {
  readonly entry: Omit<EntryCommands, 'tier'>;
  /** The indices of the entry's commands, in the order of the entry. */
  readonly ends: readonly number[];
  readonly growths: readonly number[];
  readonly questions: readonly number[];
  /** Settlements of requests that every gateway regards as ended. */
  readonly late: readonly number[];
  /** Commands that take no resources. */
  readonly others: readonly number[];
  readonly settlements: readonly Settlement[];
  /** The ids whose facts the decisions need: keys, and end users if named. */
  readonly keyIds: readonly string[];
  /** Whether a decision depends on the clock. */
  readonly decides: boolean;
  /** Whether the log entry is empty. */
  readonly isEmpty: boolean;
  /** Whether the batch needs neither a log entry nor facts. */
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

/** The id of the end user of a command if named, otherwise of its key. */
export function askerIn(command: Command, keyId: string): string {
  const request =
    command.kind === 'admit' ? command.request : command.kind === 'forecast' ? command.question.requests[0] : undefined;
  return request?.user === undefined ? keyId : userId(keyId, request.user);
}

/** The commands that read windows, which are only correct while the clock is. */
const DECIDED: readonly Command['kind'][] = ['admit', 'admit_listing', 'identify', 'forecast'];

function openOf({ open }: Lookup, kind: string, requestId: string): OpenRequest {
  const found = open(requestId);
  invariant(
    found !== undefined,
    () => `a command to ${kind} names request ${requestId}, which is not open: it was settled twice or never admitted`,
  );
  return found;
}
