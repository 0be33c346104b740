/** The price file: prices by provider and model, which `prices import` writes and a config includes. */
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { UserError } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { PriceFileSummary } from './config.ts';
import { addIssue, readDocument } from './document.ts';
import {
  inputKinds,
  modelName,
  PRICE_EXPECTED,
  prices,
  providerName,
  serviceTiers,
  text,
  wholeNumber,
} from './price-schema.ts';

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;
const FREE = `${PRICE_EXPECTED}; and above 0: a model that costs nothing needs its price in the config`;

const priceEntry = prices
  .extend({
    service_tiers: serviceTiers.default({}),
    context_window: wholeNumber(1).optional(),
    max_output: wholeNumber(1).optional(),
    reads: inputKinds.optional(),
  })
  .refine(({ input }) => input > 0n, { path: ['input'], message: FREE });

const priceFile = z.strictObject({
  imported_at: z
    .string({ error: () => 'expected a time such as 2026-11-22T08:30:00Z' })
    .regex(TIME, 'expected a time such as 2026-11-22T08:30:00Z'),
  source: text,
  providers: z.record(
    providerName,
    z.record(modelName, priceEntry, { error: () => 'expected a map of model names to prices' }),
    { error: () => 'expected a map of provider names to their models' },
  ),
});

/** The prices of a model, and its other fields in the file. */
export type PriceEntry = z.infer<typeof priceEntry>;
export type PriceTable = Readonly<Record<string, Readonly<Record<string, PriceEntry>>>>;

export interface PriceFile {
  readonly importedAt: string;
  /** The name of the list from which it was imported. */
  readonly source: string;
  /** By provider in the config, then by the host's name for the model. */
  readonly providers: PriceTable;
}

/** The price file of a config. */
export interface PriceSource {
  /** Undefined if the config includes no price file. */
  readonly path: string | undefined;
  /** Undefined if it was not read. */
  readonly file: PriceFile | undefined;
}

export const NO_PRICES: PriceSource = { path: undefined, file: undefined };

/** The fields of a model in the file. */
export function entryIn(table: PriceTable, provider: string, model: string): PriceEntry | undefined {
  const models = entriesOf(table, provider);
  return Object.hasOwn(models, model) ? models[model] : undefined;
}

export function entriesOf(table: PriceTable, provider: string): Readonly<Record<string, PriceEntry>> {
  return (Object.hasOwn(table, provider) ? table[provider] : undefined) ?? {};
}

export function summaryOf({ path, file }: PriceSource): PriceFileSummary | undefined {
  if (path === undefined) return undefined;
  const counts = Object.values(file?.providers ?? {}).map((models) => Object.keys(models).length);
  return { path, importedAt: file?.importedAt, models: counts.reduce((sum, each) => sum + each, 0) };
}

/** Reads a price file; undefined if it does not exist. Throws a UserError with file, line and column of each fault. */
export function readPriceFile(path: string, shownPath: string): PriceFile | undefined {
  let contents: string;
  try {
    contents = readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    if (code === 'ENOENT') return undefined;
    throw new UserError(`cannot read the price file ${path} (${code})`);
  }
  return parsePriceFile(contents, shownPath);
}

/** The comments at the top. Below them, the file is JSON unless it was edited by hand. */
const COMMENTS = /^(?:#.*\n)*/;

/** Throws a UserError as `readPriceFile` does. */
export function parsePriceFile(contents: string, shownPath: string): PriceFile {
  // JSON is parsed in a tenth of the time. YAML is only needed for the lines of faults.
  const json = parseJson(contents.replace(COMMENTS, ''));
  const quick = json && priceFile.safeParse(json.value);
  if (quick?.success) return priceFileOf(quick.data);
  return readDocument({ text: contents, shownPath }, (raw, problems) => {
    const result = priceFile.safeParse(raw);
    if (result.success) return priceFileOf(result.data);
    for (const issue of result.error.issues) addIssue(issue, problems.add);
    return undefined;
  });
}

function priceFileOf({ imported_at: importedAt, source, providers }: z.infer<typeof priceFile>): PriceFile {
  return { importedAt, source, providers };
}
