/**
 * Adds up what a batch of settled requests changes in the balance and in the sums of keys, of other levels and of names,
 * and writes it once per batch.
 */
import { utcDay, utcMonth } from '../../core/clock.ts';
import type { Nanos } from '../../core/money.ts';
import { NAME_KINDS, type NameKind, OTHER_NAMES, type SpentBy } from '../../core/spent-by.ts';
import type { UsageSource } from '../../core/usage.ts';
import { isUserId } from '../levels.ts';
import { NAME_SUM_COLUMNS } from '../names.ts';
import { SUM_COLUMNS, SUM_FIGURES } from '../sql.ts';
import type { Sqlite, Statement } from './database.ts';
import { NamePlaces } from './name-places.ts';
import { ADD_FIGURES } from './sql.ts';

/** What requests add up to. */
interface Figures {
  requests: number;
  errors: number;
  promptTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  completionTokens: number;
  costNanos: Nanos;
}

/** What the sums need of a request that has ended: its own figures, and what they are kept by. */
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

/** The sum of one key, model and source on one day. */
interface Sum extends Figures {
  readonly day: string;
  readonly month: string;
  readonly keyId: string;
  readonly model: string;
  readonly source: UsageSource;
  lastAtMs: number;
  /** What of it is booked to each level besides the key; undefined until something is. */
  levels: Map<string, Figures> | undefined;
  /** What of it is for each name; undefined until something is. */
  names: Map<string, NameSum> | undefined;
}

export class SumWriter {
  readonly #addDay: Statement;
  readonly #addMonth: Statement;
  readonly #addLevelDay: Statement;
  readonly #addLevelMonth: Statement;
  readonly #addName: Statement;
  readonly #charge: Statement;
  readonly #places: NamePlaces;
  /** Not written yet. */
  readonly #sums = new Map<string, Sum>();

  constructor(database: Sqlite) {
    const addTo = (table: string, columns: string, more = '') =>
      database.prepare(
        `INSERT INTO ${table} (${columns}) VALUES (${columns.replaceAll(/\w+/g, '?')}) ON CONFLICT DO UPDATE SET ${ADD_FIGURES}${more}`,
      );
    const last = ', last_at_ms = max(last_at_ms, excluded.last_at_ms)';
    this.#addDay = addTo('usage_days', `day, ${SUM_COLUMNS}`);
    this.#addMonth = addTo('usage_months', `month, ${SUM_COLUMNS}, last_at_ms`, last);
    this.#addLevelDay = addTo('level_days', `level_id, day, ${SUM_COLUMNS}`);
    this.#addLevelMonth = addTo('level_months', `level_id, month, ${SUM_FIGURES.join(', ')}`);
    this.#addName = addTo('usage_name_days', NAME_SUM_COLUMNS);
    this.#charge = database.prepare('UPDATE account SET balance_nanos = balance_nanos - ?');
    this.#places = new NamePlaces(database);
  }

  /** `levels`: those that it is booked to besides its key. */
  add(summand: Summand, levels: readonly string[] | undefined, spentBy: SpentBy | undefined): void {
    const sum = this.#sumOf(summand);
    plus(sum, summand);
    sum.lastAtMs = Math.max(sum.lastAtMs, summand.admittedAtMs);
    if (levels !== undefined) {
      sum.levels ??= new Map();
      for (const level of levels) plus(figuresIn(sum.levels, level), summand);
    }
    if (spentBy === undefined) return;
    for (const kind of NAME_KINDS) {
      if (spentBy[kind] !== '') plus(this.#nameIn(sum, kind, spentBy[kind]), summand);
    }
  }

  /** What a level is charged by requests that are not written yet: on those days, or in those months. */
  pendingCharge(levelId: string, counts: (sum: { readonly day: string; readonly month: string }) => boolean): Nanos {
    let nanos = 0n;
    for (const sum of this.#sums.values()) {
      const booked = sum.keyId === levelId ? sum : sum.levels?.get(levelId);
      if (booked !== undefined && counts(sum)) nanos += booked.costNanos;
    }
    return nanos;
  }

  /** Writes everything that was added. Belongs in the transaction that writes the requests. */
  write(): void {
    if (this.#sums.size === 0) return;
    let costNanos = 0n;
    const levelMonths = new Map<string, Map<string, Figures>>();
    for (const sum of this.#sums.values()) {
      const { day, month, keyId, model, source } = sum;
      const values = valuesOf(sum);
      this.#addDay.run(day, keyId, model, source, ...values);
      this.#addMonth.run(month, keyId, model, source, ...values, sum.lastAtMs);
      for (const [level, booked] of sum.levels ?? NOTHING) {
        this.#addLevelDay.run(level, day, keyId, model, source, ...valuesOf(booked));
        // Of an end user days alone.
        if (!isUserId(level)) plus(figuresIn(monthIn(levelMonths, month), level), booked);
      }
      for (const named of sum.names?.values() ?? NOTHING) {
        this.#addName.run(day, named.kind, named.name, keyId, model, ...valuesOf(named));
      }
      costNanos += sum.costNanos;
    }
    // Of all keys and models of a level: whichever served, it is the same row.
    for (const [month, levels] of levelMonths) {
      for (const [level, booked] of levels) this.#addLevelMonth.run(level, month, ...valuesOf(booked));
    }
    if (costNanos > 0n) this.#charge.run(costNanos);
    this.#sums.clear();
  }

  /** Discards what was added: the transaction was rolled back, and with it the requests, and the places of names. */
  forget(): void {
    this.#sums.clear();
    this.#places.forget();
  }

  #sumOf({ keyId, model, source, admittedAtMs }: Summand): Sum {
    const day = utcDay(admittedAtMs);
    // None of the parts contains a line break.
    const place = `${day}\n${keyId}\n${model}\n${source}`;
    let sum = this.#sums.get(place);
    if (sum === undefined) {
      const names = { day, month: utcMonth(admittedAtMs), keyId, model, source };
      sum = { ...noFigures(), ...names, lastAtMs: 0, levels: undefined, names: undefined };
      this.#sums.set(place, sum);
    }
    return sum;
  }

  /** Of a name that gets no place: the sum of all others. */
  #nameIn(sum: Sum, kind: NameKind, asked: string): NameSum {
    sum.names ??= new Map();
    // No kind has a space.
    const found = sum.names.get(`${kind} ${asked}`);
    if (found !== undefined) return found;
    const name = this.#places.has(sum.month, kind, sum.keyId, asked) ? asked : OTHER_NAMES;
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

function monthIn(months: Map<string, Map<string, Figures>>, month: string): Map<string, Figures> {
  const levels = months.get(month) ?? new Map<string, Figures>();
  months.set(month, levels);
  return levels;
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
