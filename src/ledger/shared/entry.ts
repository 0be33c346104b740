/** Encodes the commands of a gateway as the JSON of one log entry, and decodes them. Pure. */
import { InvariantError } from '../../core/invariant.ts';
import type { Nanos } from '../../core/money.ts';
import type { Settlement } from '../../core/settlement.ts';
import { ownerOf, userId, userStoredAs } from '../../state/levels.ts';
import type { DecidedHold } from '../../state/postgres/batch.ts';
import type { AdmissionRequest, Growth, LedgerSettings } from '../ledger.ts';

/** The settings that decisions depend on. They may differ between gateways, so each entry contains them. */
export type Tier = Pick<LedgerSettings, 'rpm' | 'tpm' | 'concurrency' | 'modelsRpm' | 'creditEnforced'>;

/** A request for admission, or a listing, with the id of its key. */
export type Question =
  | {
      readonly kind: 'admit';
      readonly keyId: string;
      readonly request: Omit<AdmissionRequest, 'keyHash' | 'fallbacks'>;
    }
  /** `counts`: the gateway's token counts in flight, if this is a token count and needs a slot; otherwise undefined. */
  | { readonly kind: 'listing'; readonly keyId: string; readonly counts: number | undefined };

/** Parts of a reservation missing from the journal. */
export type Reserved = Pick<DecidedHold, 'reservedTokens' | 'hasSlot'>;

/** A settlement with the reservation that it ends. The log contains only the fields that decisions depend on. */
export type End = Settlement & Reserved;

/** The commands of an entry, in the order of their decisions. */
export interface EntryCommands {
  readonly tier: Tier;
  readonly ends: readonly End[];
  /** The requests that give up their slots. */
  readonly freed: readonly string[];
  /** Holds of admissions to release. */
  readonly givenBack: readonly DecidedHold[];
  readonly growths: readonly Growth[];
  readonly questions: readonly Question[];
}

type EndJson = readonly [
  requestId: string,
  prompt: number,
  completion: number,
  cost: string,
  reserved: number,
  slot: number,
];

type HoldJson = readonly [
  requestId: string,
  keyId: string,
  model: string,
  reserved: number,
  input: number,
  output: number,
  hold: string,
  admittedUs: string,
  slot: number,
  price?: string | null,
  levels?: readonly string[],
];

type Asked =
  | readonly [
      key: number,
      requestId: string,
      model: string,
      reserved: number,
      input: number,
      output: number,
      hold: string,
      price?: string,
    ]
  /** A listing: -1 for a list of models, which needs no slot. */
  | readonly [key: number, counts: number];

/**
 * The entry as stored. Names are short because every gateway reads every entry. The database itself reads the ids in
 * `k`, `s` and `b`.
 */
interface EntryJson {
  readonly t: readonly number[];
  /** The ids of keys; for a named end user, the id of the user. */
  readonly k?: readonly string[];
  readonly s?: readonly EndJson[];
  readonly f?: readonly string[];
  readonly b?: readonly HoldJson[];
  readonly g?: readonly (readonly [requestId: string, output: number, hold: string])[];
  readonly a?: readonly Asked[];
}

export function encode({ tier, ends, freed, givenBack, growths, questions }: EntryCommands): string {
  const keys = [...new Set(questions.map(askerOf))];
  const at = new Map(keys.map((id, index) => [id, index]));
  const json: EntryJson = {
    t: [tier.rpm, tier.tpm, tier.concurrency, tier.modelsRpm, Number(tier.creditEnforced)],
    ...(keys.length > 0 && { k: keys }),
    ...(ends.length > 0 && {
      s: ends.map(({ requestId, usage, costNanos, reservedTokens, hasSlot }): EndJson => {
        return [requestId, usage.promptTokens, usage.completionTokens, `${costNanos}`, reservedTokens, Number(hasSlot)];
      }),
    }),
    ...(freed.length > 0 && { f: freed }),
    ...(givenBack.length > 0 && { b: givenBack.map(holdJson) }),
    ...(growths.length > 0 && {
      g: growths.map(({ requestId, outputTokens, holdNanos }) => [requestId, outputTokens, `${holdNanos}`] as const),
    }),
    ...(questions.length > 0 && {
      a: questions.map((question) => asked(question, at.get(askerOf(question)) as number)),
    }),
  };
  return JSON.stringify(json);
}

function holdJson(hold: DecidedHold): HoldJson {
  const { requestId, keyId, model, reservedTokens, inputTokens, outputTokens, holdNanos, price, levels } = hold;
  const tokens = [reservedTokens, inputTokens, outputTokens] as const;
  const values = [
    requestId,
    keyId,
    model,
    ...tokens,
    `${holdNanos}`,
    `${hold.admittedUs}`,
    Number(hold.hasSlot),
  ] as const;
  if (levels !== undefined) return [...values, price ?? null, levels];
  return price === undefined ? values : [...values, price];
}

function asked(question: Question, key: number): Asked {
  if (question.kind === 'listing') return [key, question.counts ?? -1];
  const { requestId, model, reservedTokens, inputTokens, outputTokens, holdNanos, price } = question.request;
  const values = [requestId, model, reservedTokens, inputTokens, outputTokens, `${holdNanos}`] as const;
  return price === undefined ? [key, ...values] : [key, ...values, price];
}

/** A malformed entry: a client with write access to the log has inserted something that a correct gateway never sends. */
export class NonsenseError extends InvariantError {}

/** Throws a NonsenseError for any value that `encode` cannot return. */
export function decode(json: unknown): EntryCommands {
  const { t, k, s, f, b, g, a } = (typeof json === 'object' && json !== null ? json : {}) as Record<string, unknown>;
  const [rpm, tpm, concurrency, modelsRpm, credit] = listOf(t).map(amount) as [number, number, number, number, number];
  const askers = listOf(k ?? []).map(askerIn);
  return {
    tier: { rpm, tpm, concurrency, modelsRpm, creditEnforced: amount(credit) === 1 },
    ends: listOf(s ?? []).map(endOf),
    freed: listOf(f ?? []).map(text),
    givenBack: listOf(b ?? []).map(holdOf),
    growths: listOf(g ?? []).map((each) => {
      const [requestId, output, hold] = listOf(each);
      return { requestId: text(requestId), outputTokens: amount(output), holdNanos: nanos(hold) };
    }),
    questions: listOf(a ?? []).map((each) => questionOf(listOf(each), askers)),
  };
}

/** The end user of a question. */
export function userIn(question: Question): string | undefined {
  return question.kind === 'admit' ? question.request.user : undefined;
}

/** The id of the end user of a question if named, otherwise of its key. */
function askerOf(question: Question): string {
  const user = userIn(question);
  return user === undefined ? question.keyId : userId(question.keyId, user);
}

/** Decodes a settlement. For a request charged as held, it contains the held amounts. */
export function endOf(json: unknown): End {
  const [requestId, prompt, completion, cost, reserved, slot] = listOf(json);
  return {
    requestId: text(requestId),
    outcome: 'ok',
    usage: { promptTokens: amount(prompt), cachedTokens: 0, completionTokens: amount(completion) },
    source: 'reported',
    costNanos: nanos(cost),
    completionId: undefined,
    firstByteMs: undefined,
    reservedTokens: amount(reserved),
    hasSlot: slot === 1,
  };
}

function holdOf(json: unknown): DecidedHold {
  const [requestId, keyId, model, reserved, input, output, hold, admittedUs, slot, price, levels] = listOf(json);
  return {
    requestId: text(requestId),
    keyId: text(keyId),
    model: text(model),
    reservedTokens: amount(reserved),
    inputTokens: amount(input),
    outputTokens: amount(output),
    holdNanos: nanos(hold),
    admittedUs: nanos(admittedUs),
    hasSlot: slot === 1,
    price: price === undefined || price === null ? undefined : text(price),
    levels: levels === undefined ? undefined : listOf(levels).map(text),
  };
}

/** A key, and its end user if named. */
interface Asker {
  readonly keyId: string;
  readonly user: string | undefined;
}

function askerIn(json: unknown): Asker {
  const id = text(json);
  const { ownerId: keyId, stored = '' } = ownerOf(id) ?? { ownerId: id };
  return { keyId, user: stored === '' ? undefined : userStoredAs(stored) };
}

function questionOf(each: readonly unknown[], askers: readonly Asker[]): Question {
  const { keyId, user } = askers[amount(each[0])] ?? nonsense(each[0]);
  if (each.length === 2) return { kind: 'listing', keyId, counts: each[1] === -1 ? undefined : amount(each[1]) };
  const [, requestId, model, reserved, input, output, hold, price] = each;
  const request = {
    requestId: text(requestId),
    model: text(model),
    reservedTokens: amount(reserved),
    inputTokens: amount(input),
    outputTokens: amount(output),
    holdNanos: nanos(hold),
    price: price === undefined ? undefined : text(price),
    user,
  };
  return { kind: 'admit', keyId, request };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : nonsense(value);
}

/** Maximum length of a text. PostgreSQL limits an index entry to 2,704 bytes. */
const MOST_TEXT_BYTES = 2_000;
/** Maximum UTF-8 bytes per UTF-16 unit. Short strings pass without counting their bytes. */
const MOST_UNIT_BYTES = 3;

function text(value: unknown): string {
  if (typeof value !== 'string') return nonsense(value);
  const isShort = value.length * MOST_UNIT_BYTES <= MOST_TEXT_BYTES || Buffer.byteLength(value) <= MOST_TEXT_BYTES;
  return isShort ? value : nonsense(value);
}

function amount(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : nonsense(value);
}

/** Fits a 64-bit integer column. */
const NANOS = /^\d{1,18}$/;

function nanos(value: unknown): Nanos {
  return typeof value === 'string' && NANOS.test(value) ? BigInt(value) : nonsense(value);
}

function nonsense(value: unknown): never {
  throw new NonsenseError(`no gateway asks ${JSON.stringify(value)?.slice(0, 100)}`);
}
