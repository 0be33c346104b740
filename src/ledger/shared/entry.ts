/** What a gateway asks for in one entry of the log, as JSON, and back. Pure. */
import type { Settlement } from '../../core/settlement.ts';
import { ownerOf, userId, userStoredAs } from '../../state/levels.ts';
import type { AdmissionRequest, Growth, LedgerSettings } from '../ledger.ts';
import type { Command } from '../protocol.ts';

/** The settings that decisions depend on. Each gateway has its own. */
export type Tier = Pick<LedgerSettings, 'rpm' | 'tpm' | 'concurrency' | 'modelsRpm' | 'creditEnforced'>;

/** A request to admit, or a listing, by the id of its key. */
export type Question =
  | {
      readonly kind: 'admit';
      readonly keyId: string;
      readonly request: Omit<AdmissionRequest, 'keyHash' | 'fallbacks'>;
    }
  /** `counts`: those of its gateway that are in flight, where this is a count and needs a slot. */
  | { readonly kind: 'listing'; readonly keyId: string; readonly counts: number | undefined };

/** How a request has ended, as far as decisions depend on it. */
export type End = Pick<Settlement, 'requestId' | 'usage' | 'costNanos'>;

/** What is decided in this order. */
export interface EntryCommands {
  readonly tier: Tier;
  readonly ends: readonly End[];
  readonly freed: readonly string[];
  readonly givenBack: readonly string[];
  readonly growths: readonly Growth[];
  readonly questions: readonly Question[];
}

type Asked =
  | [
      key: number,
      requestId: string,
      model: string,
      reserved: number,
      input: number,
      output: number,
      hold: string,
      price?: string,
    ]
  /** -1 needs no slot. */
  | [key: number, counts: number];

/** As it is in the log: short, since every gateway reads it. */
export interface EntryJson {
  readonly t: readonly number[];
  /** Who asks: the ids of keys, and of their end users where they are named. */
  readonly k?: readonly string[];
  readonly s?: readonly (readonly [requestId: string, prompt: number, completion: number, cost: string])[];
  readonly f?: readonly string[];
  readonly b?: readonly string[];
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
      s: ends.map(({ requestId, usage, costNanos }) => {
        return [requestId, usage.promptTokens, usage.completionTokens, `${costNanos}`] as const;
      }),
    }),
    ...(freed.length > 0 && { f: freed }),
    ...(givenBack.length > 0 && { b: givenBack }),
    ...(growths.length > 0 && {
      g: growths.map(({ requestId, outputTokens, holdNanos }) => [requestId, outputTokens, `${holdNanos}`] as const),
    }),
    ...(questions.length > 0 && {
      a: questions.map((question) => asked(question, at.get(askerOf(question)) as number)),
    }),
  };
  return JSON.stringify(json);
}

function asked(question: Question, key: number): Asked {
  if (question.kind === 'listing') return [key, question.counts ?? -1];
  const { requestId, model, reservedTokens, inputTokens, outputTokens, holdNanos, price } = question.request;
  const values = [requestId, model, reservedTokens, inputTokens, outputTokens, `${holdNanos}`] as const;
  return price === undefined ? [key, ...values] : [key, ...values, price];
}

export function decode({ t, k = [], s = [], f = [], b = [], g = [], a = [] }: EntryJson): EntryCommands {
  const [rpm = 0, tpm = 0, concurrency = 0, modelsRpm = 0, credit = 0] = t;
  return {
    tier: { rpm, tpm, concurrency, modelsRpm, creditEnforced: credit === 1 },
    ends: s.map(([requestId, promptTokens, completionTokens, cost]) => {
      return { requestId, usage: { promptTokens, cachedTokens: 0, completionTokens }, costNanos: BigInt(cost) };
    }),
    freed: f,
    givenBack: b,
    growths: g.map(([requestId, outputTokens, hold]) => ({ requestId, outputTokens, holdNanos: BigInt(hold) })),
    questions: a.map((each) => questionOf(each, k[each[0]] as string)),
  };
}

/** The end user whom a question is for. */
export function userIn(question: Question): string | undefined {
  return question.kind === 'admit' ? question.request.user : undefined;
}

/** The id of the key of a question, or of its end user where that is named. */
function askerOf(question: Question): string {
  const user = userIn(question);
  return user === undefined ? question.keyId : userId(question.keyId, user);
}

function questionOf(each: Asked, asker: string): Question {
  const { ownerId: keyId, stored } = ownerOf(asker) ?? { ownerId: asker };
  if (each.length === 2) return { kind: 'listing', keyId, counts: each[1] < 0 ? undefined : each[1] };
  const [, requestId, model, reservedTokens, inputTokens, outputTokens, hold, price] = each;
  const tokens = { reservedTokens, inputTokens, outputTokens };
  return {
    kind: 'admit',
    keyId,
    request: { requestId, model, ...tokens, holdNanos: BigInt(hold), price, user: stored && userStoredAs(stored) },
  };
}

/** What a question is as a command to the decider. */
export function commandOf({ request }: Extract<Question, { kind: 'admit' }>, keyHash: string): Command {
  return { kind: 'admit', request: { ...request, keyHash } };
}
