/**
 * Computes the state before the tail of the log: the entries whose decisions are not recorded yet. A starting gateway
 * reads the tables, which already contain the effects of these entries. It undoes the effects, last entry first, and
 * then decides the entries again in order, as every other gateway did. Pure.
 */
import { utcMonth } from '../../core/clock.ts';
import { levelIdsOf } from '../../state/levels.ts';
import type { Decided, DecidedHold, GrownHold, Listed } from '../../state/postgres/batch.ts';
import type { EntryRow, OpenHold, Rebuilt, RecentRequest, TailEnd, Unwritten } from '../../state/postgres/log.ts';
import type { EngineHandover, KeyHandover, OpenRequestHandover } from '../handover.ts';
import type { WindowEntries } from '../local/window.ts';
import { decode, type EntryCommands, endOf, NonsenseError } from './entry.ts';
import type { Facts, FactsRow } from './facts.ts';

/** A log entry written by the database itself. */
export interface Change {
  /** The balance after the change, in nanodollars. */
  readonly balance: string;
  /** The amount added by the change. */
  readonly added?: string;
  /** The gateway whose requests were all charged as held. */
  readonly reaped?: number;
  readonly clock?: boolean;
  /** The version of the admission rules from this entry on, and the version before. */
  readonly rules?: number;
  readonly before?: number;
  /** The settlement of a request whose hold was already gone. */
  readonly late?: readonly [
    keyId: string,
    tokens: number,
    counted: number | null,
    countedUs: number | null,
    requestId: string,
    levels: string[] | null,
  ];
}

type Windows = Pick<Rebuilt, 'holds' | 'recent' | 'listings'>;

/** The state just before the first entry of the tail; with an empty tail, after the last entry. */
export interface Beginning extends Windows {
  readonly seq: bigint;
  readonly atUs: bigint;
  readonly rules: number;
  /** The pending effects by gateway. */
  readonly unwritten: ReadonlyMap<number, Decided & { readonly atUs: bigint }>;
}

/** Also undoes the tail's changes in `facts`. */
export function beginningOf(rebuilt: Rebuilt, facts: Facts): Beginning {
  const [first] = rebuilt.tail;
  const before = new BeforeTail(rebuilt, facts);
  for (const [entry, stored] of rebuilt.tail.toReversed()) before.undo(entry, stored as FactsRow[] | null);
  let windows: Windows = before.windows;
  const unwritten = new Map<number, Decided & { readonly atUs: bigint }>();
  for (const entry of rebuilt.unwritten) {
    const decided = decidedOf(entry, facts);
    unwritten.set(entry.nodeId, { ...decided, atUs: entry.atUs });
    windows = withDecided(windows, entry.nodeId, decided);
  }
  return {
    ...windows,
    seq: first === undefined ? rebuilt.seq : BigInt(first[0][0]) - 1n,
    atUs: first === undefined ? rebuilt.atUs : BigInt(first[0][1]),
    rules: before.rules,
    unwritten,
  };
}

/** Undoes the entries of the tail, last entry first, in the state read from the tables. */
class BeforeTail {
  readonly #facts: Facts;
  readonly #holds: Map<string, OpenHold>;
  readonly #listings: readonly Listed[];
  readonly #ended: ReadonlyMap<bigint, readonly TailEnd[]>;
  #recent: readonly RecentRequest[];
  rules: number;

  constructor({ holds, recent, listings, ended, rules }: Rebuilt, facts: Facts) {
    this.#facts = facts;
    this.#holds = new Map(holds.map((hold) => [hold.requestId, hold]));
    this.#listings = listings;
    this.#ended = Map.groupBy(ended, ({ seq }) => seq);
    this.#recent = recent;
    this.rules = rules;
  }

  get windows(): Windows {
    const holds = [...this.#holds.values()].toSorted((a, b) => Number(a.admittedUs - b.admittedUs));
    return { holds, recent: this.#recent, listings: this.#listings };
  }

  undo([seq, atUs, nodeId, commands]: EntryRow, stored: FactsRow[] | null): void {
    if (nodeId === 0) this.#undoChange(commands as Change, atUs, stored);
    const asked = nodeId === 0 || commands === null ? NOTHING_ASKED : soundlyDecoded(commands);
    // A malformed entry is not undone: replaying it changes no state, so requests that the database ended with it must
    // stay ended.
    if (asked === undefined) return;
    for (const { said, ...hold } of this.#ended.get(BigInt(seq)) ?? []) {
      const { usage, costNanos, reservedTokens, hasSlot } = endOf(said);
      const tokens = { inputTokens: usage.promptTokens, outputTokens: usage.completionTokens, reservedTokens };
      this.#holds.set(hold.requestId, { ...hold, ...tokens, hasSlot });
      this.#facts.charge(chargedOf(hold), -costNanos, atUs / 1_000);
    }
    for (const requestId of asked.freed) this.#change(requestId, nodeId, { hasSlot: true });
    for (const hold of asked.givenBack) {
      this.#holds.set(hold.requestId, { ...hold, nodeId, countedUs: hold.admittedUs });
    }
  }

  #undoChange({ added, before, late }: Change, atUs: number, stored: FactsRow[] | null): void {
    if (before !== undefined) this.rules = before;
    if (stored !== null) this.#facts.take(stored);
    if (added !== undefined) this.#facts.credit(-BigInt(added));
    if (late === undefined) return;
    const [keyId, tokens, counted, countedUs] = late;
    const at = this.#recent.findIndex(
      (each) => each.keyId === keyId && each.settledUs === atUs && each.tokens === tokens,
    );
    if (at < 0) return;
    const { admittedUs, levels } = this.#recent[at] as RecentRequest;
    this.#recent = this.#recent.with(at, {
      keyId,
      levels,
      admittedUs,
      settledUs: countedUs ?? 0,
      tokens: counted ?? 0,
    });
  }

  #change(requestId: string, nodeId: number, change: Partial<OpenHold>): void {
    const hold = this.#holds.get(requestId);
    if (hold?.nodeId === nodeId) this.#holds.set(requestId, { ...hold, ...change });
  }
}

const NOTHING_ASKED: Pick<EntryCommands, 'freed' | 'givenBack'> = { freed: [], givenBack: [] };

function soundlyDecoded(commands: unknown): EntryCommands | undefined {
  try {
    return decode(commands);
  } catch (error) {
    if (error instanceof NonsenseError) return undefined;
    throw error;
  }
}

/** Reconstructs the effects of an entry from its recorded decisions. */
function decidedOf({ seq, atUs, commands, decided: recorded }: Unwritten, facts: Facts): Decided {
  const { growths = [], questions = [] } = soundlyDecoded(commands) ?? {};
  const decided = typeof recorded === 'string' ? recorded : ';';
  const [grown = '', signs = ''] = decided.split(';');
  const grownTo = grown.split(',');
  const taken = questions.filter((_, index) => signs[index] === '1');
  return {
    seq,
    decided,
    digest: '',
    holds: taken.flatMap((question): DecidedHold[] => {
      if (question.kind === 'listing') return [];
      const { keyId } = question;
      const { user, ...request } = question.request;
      const outer = facts.chainOf(keyId, user).filter((id) => id !== keyId);
      const levels = outer.length === 0 ? undefined : outer;
      return [{ ...request, price: request.price, keyId, admittedUs: atUs, hasSlot: true, levels, user }];
    }),
    grown: growths.flatMap(({ requestId }, index): GrownHold[] => {
      const [, output, reserved, nanos] = GROWN.exec(grownTo[index] ?? '') ?? [];
      if (nanos === undefined) return [];
      return [{ requestId, outputTokens: Number(output), reservedTokens: Number(reserved), holdNanos: BigInt(nanos) }];
    }),
    listings: listedIn(
      taken.filter(({ kind }) => kind === 'listing').map(({ keyId }) => keyId),
      atUs,
    ),
  };
}

/** A granted growth in the decisions encoded by `Replica`. */
const GROWN = /^(\d+)\/(\d+)\/(\d+)$/;

/** Counts the listings per key at one moment. */
export function listedIn(keyIds: readonly string[], atUs: bigint): Listed[] {
  const listings = Map.groupBy(keyIds, (keyId) => keyId);
  return [...listings].map(([keyId, each]) => ({ keyId, atUs, listings: each.length }));
}

function withDecided({ holds, recent, listings }: Windows, nodeId: number, decided: Decided): Windows {
  const grown = new Map(decided.grown.map((each) => [each.requestId, each]));
  const admitted = decided.holds.map((hold) => ({ ...hold, nodeId, countedUs: hold.admittedUs }));
  return {
    holds: [
      ...holds.map((hold) => (hold.nodeId === nodeId ? { ...hold, ...grown.get(hold.requestId) } : hold)),
      ...admitted,
    ],
    recent,
    listings: [...listings, ...decided.listings],
  };
}

function chargedOf({ keyId, admittedUs, levels }: Pick<DecidedHold, 'keyId' | 'admittedUs' | 'levels'>) {
  return { keyId, levels, admittedAtMs: Number(admittedUs) / 1_000 };
}

/** Converts the state to the form of a handover between processes, with the times of the log. */
export function handoverOf({ holds, recent, listings }: Windows, facts: Facts): EngineHandover {
  const windows = new Map<string, Record<'requests' | 'tokens' | 'listings', [atMs: number, weight: number][]>>();
  const of = (keyId: string) => {
    const window = windows.get(keyId) ?? { requests: [], tokens: [], listings: [] };
    windows.set(facts.keptId(keyId), window);
    return window;
  };
  for (const { admittedUs, settledUs, tokens, ...booked } of recent) {
    for (const id of levelIdsOf(booked)) {
      if (admittedUs !== null) of(id).requests.push([admittedUs / 1_000, 1]);
      if (tokens > 0) of(id).tokens.push([settledUs / 1_000, tokens]);
    }
  }
  for (const hold of holds) {
    for (const id of levelIdsOf(hold)) of(id).requests.push([Number(hold.countedUs) / 1_000, 1]);
  }
  for (const { keyId, atUs, listings: count } of listings) of(keyId).listings.push([Number(atUs) / 1_000, count]);
  const keys = [...windows].map(([keyId, { requests, tokens, listings }]): KeyHandover => {
    return { keyId, requests: entriesOf(requests), tokens: entriesOf(tokens), listings: entriesOf(listings) };
  });
  return { keys, open: holds.map(openOf) };
}

function entriesOf(entries: readonly (readonly [number, number])[]): WindowEntries {
  const sorted = entries.toSorted(([a], [b]) => a - b);
  return {
    times: sorted.map(([time]) => time),
    weights: sorted.map(([, weight]) => weight),
  };
}

function openOf({ admittedUs, reservedTokens, hasSlot, ...hold }: DecidedHold): OpenRequestHandover {
  const admittedAtMs = Number(admittedUs) / 1_000;
  const { requestId, keyId, model, inputTokens, outputTokens, holdNanos, price, levels, user } = hold;
  return {
    hold: { requestId, keyId, model, admittedAtMs, inputTokens, outputTokens, holdNanos, price, levels, user },
    reservedTokens,
    month: utcMonth(admittedAtMs),
    admittedAtMs,
    hasSlot,
  };
}
