/**
 * Adds up the changes of a batch of settled requests to the balance and to the sums of keys, levels and names, and writes
 * them once per batch.
 */
import { utcDay, utcMonth } from '../../core/clock.ts';
import type { Nanos } from '../../core/money.ts';
import { NAME_KINDS, type NameKind, OTHER_NAMES, type SpentBy } from '../../core/spent-by.ts';
import type { UsageSource } from '../../core/usage.ts';
import { groupsIn, isUserId } from '../levels.ts';
import { NAME_SUM_COLUMNS } from '../names.ts';
import { DAY_COLUMNS, SUM_COLUMNS, SUM_FIGURES } from '../sql.ts';
import type { Sqlite, Statement } from './database.ts';
import { NamePlaces } from './name-places.ts';
import { ADD_FIGURES } from './sql.ts';

/** The summed figures of requests. */
interface Figures {
  requests: number;
  errors: number;
  promptTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  completionTokens: number;
  costNanos: Nanos;
}

/** The fields of an ended request that the sums need: its figures and the keys of the sums. */
export interface Summand extends Readonly<Figures> {
  readonly keyId: string;
  readonly model: string;
  readonly source: UsageSource;
  readonly admittedAtMs: number;
}

interface NameSum extends Figures {
  readonly kind: NameKind;
  readonly name: string;
}

/** The sum of one key, model and source on one day, booked to the same groups. */
interface Sum extends Figures {
  readonly keyId: string;
  readonly model: string;
  readonly source: UsageSource;
  /** A JSON array. */
  readonly groupIds: string;
  lastAtMs: number;
  /** The sums by name; undefined until a request has a name. */
  names: Map<string, NameSum> | undefined;
}

interface Day {
  readonly day: string;
  readonly month: string;
  readonly sums: Map<string, Sum>;
  /** The charges of each key. */
  readonly charged: Map<string, Nanos>;
  /** The figures booked to each level other than keys. */
  readonly levels: Map<string, Figures>;
}

export class SumWriter {
  readonly #addDay: Statement;
  readonly #addMonth: Statement;
  readonly #addLevelDay: Statement;
  readonly #addLevelMonth: Statement;
  readonly #addName: Statement;
  readonly #charge: Statement;
  readonly #places: NamePlaces;
  /** Unwritten sums, by day. */
  readonly #days = new Map<string, Day>();

  constructor(database: Sqlite) {
    const addTo = (table: string, columns: string, more = '') =>
      database.prepare(
        `INSERT INTO ${table} (${columns}) VALUES (${columns.replaceAll(/\w+/g, '?')}) ON CONFLICT DO UPDATE SET ${ADD_FIGURES}${more}`,
      );
    const last = ', last_at_ms = max(last_at_ms, excluded.last_at_ms)';
    this.#addDay = addTo('usage_days', `day, ${DAY_COLUMNS}`);
    this.#addMonth = addTo('usage_months', `month, ${SUM_COLUMNS}, last_at_ms`, last);
    this.#addLevelDay = addTo('level_days', `level_id, day, ${SUM_FIGURES.join(', ')}`);
    this.#addLevelMonth = addTo('level_months', `level_id, month, ${SUM_FIGURES.join(', ')}`);
    this.#addName = addTo('usage_name_days', NAME_SUM_COLUMNS);
    this.#charge = database.prepare('UPDATE account SET balance_nanos = balance_nanos - ?');
    this.#places = new NamePlaces(database);
  }

  /** `levels`: the levels that the request is booked to in addition to its key. */
  add(summand: Summand, levels: readonly string[] | undefined, spentBy: SpentBy | undefined): void {
    const day = this.#dayOf(summand.admittedAtMs);
    const { keyId, costNanos } = summand;
    const sum = sumIn(day, summand, levels);
    plus(sum, summand);
    sum.lastAtMs = Math.max(sum.lastAtMs, summand.admittedAtMs);
    day.charged.set(keyId, (day.charged.get(keyId) ?? 0n) + costNanos);
    for (const level of levels ?? NOTHING) plus(figuresIn(day.levels, level), summand);
    if (spentBy === undefined) return;
    for (const kind of NAME_KINDS) {
      if (spentBy[kind] !== '') plus(this.#nameIn(sum, day.month, kind, spentBy[kind]), summand);
    }
  }

  /** The unwritten charges of a level on the selected days or months. */
  pendingCharge(levelId: string, counts: (on: { readonly day: string; readonly month: string }) => boolean): Nanos {
    let nanos = 0n;
    for (const day of this.#days.values()) {
      if (counts(day)) nanos += (day.charged.get(levelId) ?? 0n) + (day.levels.get(levelId)?.costNanos ?? 0n);
    }
    return nanos;
  }

  /** Writes all added sums. Must run in the transaction that writes the requests. */
  write(): void {
    if (this.#days.size === 0) return;
    let costNanos = 0n;
    for (const { day, month, sums, levels } of this.#days.values()) {
      for (const sum of sums.values()) {
        const { keyId, model, source } = sum;
        const values = valuesOf(sum);
        this.#addDay.run(day, sum.groupIds, keyId, model, source, ...values);
        this.#addMonth.run(month, keyId, model, source, ...values, sum.lastAtMs);
        for (const named of sum.names?.values() ?? NOTHING) {
          this.#addName.run(day, named.kind, named.name, keyId, model, ...valuesOf(named));
        }
        costNanos += sum.costNanos;
      }
      for (const [level, booked] of levels) {
        const values = valuesOf(booked);
        this.#addLevelDay.run(level, day, ...values);
        // End users have sums by day only.
        if (!isUserId(level)) this.#addLevelMonth.run(level, month, ...values);
      }
    }
    if (costNanos > 0n) this.#charge.run(costNanos);
    this.#days.clear();
  }

  /** Discards the added sums after a rollback, which has also undone slots of names. */
  forget(): void {
    this.#days.clear();
    this.#places.forget();
  }

  #dayOf(admittedAtMs: number): Day {
    const day = utcDay(admittedAtMs);
    let found = this.#days.get(day);
    if (found === undefined) {
      found = { day, month: utcMonth(admittedAtMs), sums: new Map(), charged: new Map(), levels: new Map() };
      this.#days.set(day, found);
    }
    return found;
  }

  /** A name without a slot is summed under `OTHER_NAMES`. */
  #nameIn(sum: Sum, month: string, kind: NameKind, asked: string): NameSum {
    sum.names ??= new Map();
    // The separator is unambiguous: kinds contain no space.
    const found = sum.names.get(`${kind} ${asked}`);
    if (found !== undefined) return found;
    const name = this.#places.has(month, kind, sum.keyId, asked) ? asked : OTHER_NAMES;
    const place = `${kind} ${name}`;
    const named = sum.names.get(place) ?? { ...noFigures(), kind, name };
    sum.names.set(place, named);
    return named;
  }
}

const NOTHING: readonly never[] = [];

function noFigures(): Figures {
  const noTokens = { promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0 };
  return { requests: 0, errors: 0, ...noTokens, costNanos: 0n };
}

function figuresIn(sums: Map<string, Figures>, name: string): Figures {
  let figures = sums.get(name);
  if (figures === undefined) {
    figures = noFigures();
    sums.set(name, figures);
  }
  return figures;
}

function sumIn({ sums }: Day, { keyId, model, source }: Summand, levels: readonly string[] | undefined): Sum {
  const groupIds = groupsIn(levels);
  // The separator is unambiguous: the parts contain no line breaks.
  const place = `${keyId}\n${model}\n${source}\n${groupIds}`;
  let sum = sums.get(place);
  if (sum === undefined) {
    sum = { ...noFigures(), keyId, model, source, groupIds, lastAtMs: 0, names: undefined };
    sums.set(place, sum);
  }
  return sum;
}

function plus(sum: Figures, figures: Readonly<Figures>): void {
  sum.requests += figures.requests;
  sum.errors += figures.errors;
  sum.promptTokens += figures.promptTokens;
  sum.cachedTokens += figures.cachedTokens;
  sum.cacheWriteTokens += figures.cacheWriteTokens;
  sum.completionTokens += figures.completionTokens;
  sum.costNanos += figures.costNanos;
}

/** In the order of SUM_FIGURES. */
function valuesOf(figures: Figures): readonly (number | Nanos)[] {
  const { requests, errors, promptTokens, cachedTokens, cacheWriteTokens, completionTokens, costNanos } = figures;
  return [requests, errors, promptTokens, cachedTokens, cacheWriteTokens, completionTokens, costNanos];
}
