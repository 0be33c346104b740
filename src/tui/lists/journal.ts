/** The list of requests in the journal, and the part of its filter that the store can evaluate. Pure. */
import { NANOS_PER_USD } from '../../core/money.ts';
import { isErrorOutcome } from '../../core/settlement.ts';
import { boundsOf } from '../../state/periods.ts';
import type { RequestEnd } from '../../state/requests.ts';
import type { FoundRequest, Model, RequestSearch } from '../model.ts';
import { type Field, type Listed, shownOf } from './list.ts';
import { numberOf, type Value, type Word, wordsOf } from './words.ts';

export const JOURNAL: Listed<FoundRequest> = {
  // Only rows that pass the filter are kept while reading.
  rows: ({ requests }) => requests.rows,
  idOf: ({ id }) => id,
  fields: {
    age: { read: ({ admittedAtMs }, { nowMs }) => (nowMs - admittedAtMs) / 1_000, isTime: true },
    key: { read: ({ key }) => key, isText: true },
    model: { read: ({ model }) => model, isText: true },
    node: { read: ({ node }) => node, isText: true },
    upstream: { ...ofEnd(({ upstream }) => upstream), isText: true },
    in: ofEnd(({ promptTokens }) => promptTokens),
    out: ofEnd(({ completionTokens }) => completionTokens),
    cost: ofEnd(({ costNanos }) => Number(costNanos) / Number(NANOS_PER_USD)),
    first: { ...ofEnd(({ firstByteMs }) => firstByteMs && firstByteMs / 1_000), isTime: true },
    took: { read: ({ admittedAtMs, end }) => end && (end.settledAtMs - admittedAtMs) / 1_000, isTime: true },
    state: { read: ({ refused, end }) => refused?.code ?? end?.outcome, isText: true },
    err: { read: errorOf, isText: true },
    day: { read: ({ admittedAtMs }) => dayOf(admittedAtMs), isHidden: true, isText: true },
    source: { ...ofEnd(({ source }) => source), isText: true, isHidden: true },
    user: { read: ({ refused, end }) => refused?.user ?? end?.spentBy?.user, isText: true, isHidden: true },
    tag: { ...ofEnd(({ spentBy }) => spentBy?.tag), isText: true, isHidden: true },
    app: { read: ({ refused, end }) => refused?.app ?? end?.spentBy?.app, isText: true, isHidden: true },
    id: { read: ({ id, end }) => `${id} ${end?.completionId ?? ''}`, isHidden: true, isText: true },
  },
};

function ofEnd(read: (end: RequestEnd) => Value): Field<FoundRequest> {
  return { read: ({ end }) => end && read(end) };
}

function errorOf({ refused, end }: FoundRequest): string {
  if (refused !== undefined) return `${refused.code} ${refused.reason} ${refused.cause}`;
  return end !== undefined && isErrorOutcome(end.outcome) ? `${end.outcome} ${end.failure?.message ?? ''}` : '';
}

function dayOf(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 10);
}

const FIELDS = Object.keys(JOURNAL.fields);

export function journalWords({ lists }: Pick<Model, 'lists'>): Word[] {
  return wordsOf(lists.requests.filter.text, FIELDS);
}

/** Returns the loaded requests in their order. */
export function shownJournal(model: Model): readonly FoundRequest[] {
  return shownOf('requests', JOURNAL, model);
}

/** The id of a request or a completion: long, and without blanks. */
const ID = /^[\w-]*\d[\w-]*$/;
const LEAST_ID = 16;

/** Returns the search for the store. The remaining words filter the rows that it returns. */
export function searchOf(model: Model): RequestSearch {
  const { filter } = model.lists.requests;
  const words = journalWords(model).filter(({ isNegated }) => !isNegated);
  const wordOf = (field: string, ...operators: string[]) =>
    words.find((word) => word.field === field && operators.includes(word.operator) && word.text !== '');
  const text = filter.text.trim();
  const period = boundsOf(wordOf('day', '=', ':')?.text ?? '');
  const age = numberOf(wordOf('age', '<', '<=')?.text ?? '', true);
  return {
    id: text.length >= LEAST_ID && ID.test(text) ? text : undefined,
    keyId: keyIdOf(model, wordOf('key', '=')?.text),
    errors: wordOf('err', ':') !== undefined,
    sinceMs: period?.sinceMs ?? (age === undefined ? undefined : model.nowMs - age * 1_000),
    untilMs: period?.untilMs,
  };
}

/** Returns the only key with a name; undefined otherwise, since the name of a deleted key may have been reused. */
function keyIdOf({ stored }: Model, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const found = stored.keys.filter(({ record }) => record.name.toLowerCase() === name);
  return found.length === 1 ? found[0]?.record.id : undefined;
}
