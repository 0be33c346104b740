/** `prices import`: imports prices from the community's list, after showing the changes. */
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { readPriceFile } from '../config/price-file.ts';
import { type Changes, changesOf, type FieldChange, type ModelChange } from '../config/price-list/changes.ts';
import { SKIP_REASONS, type SkipReason } from '../config/price-list/judge.ts';
import { readPriceList } from '../config/price-list/list.ts';
import { type Match, type Selection, selectPrices } from '../config/price-list/providers.ts';
import { writePriceFile } from '../config/price-list/write.ts';
import { reloadConfig } from '../control/client.ts';
import { socketPathOf } from '../control/protocol.ts';
import { UserError } from '../core/errors.ts';
import { parseUsd } from '../core/money.ts';
import { counted } from '../core/plural.ts';
import { program } from '../core/program.ts';
import { count, price } from '../operator/format.ts';
import type { Tone } from '../operator/health.ts';
import { CONFIG_RELOADED } from '../operator/messages.ts';
import { marked, type Table } from '../operator/table.ts';
import { notice, printFields, printJson, printLine, printNote, printTable } from './output.ts';
import { globalOptions, installed, loadOptions } from './state.ts';

const FILE_NAME = 'prices.yaml';
/** Many times the size of the list, and below the longest string of Node. */
const MAX_LIST_BYTES = 128 * 1024 * 1024;
/** The number of omitted names that a terminal shows per reason. */
const SHOWN_NAMES = 3;

export function registerPrices(program: Command): void {
  program
    .command('prices')
    .description('import model prices')
    .command('import')
    .description("write a price file from LiteLLM's list of prices, after showing what changes")
    .argument('<file>', 'model_prices_and_context_window.json, as you downloaded it')
    .addHelpText(
      'after',
      `
Writes ${FILE_NAME} beside the config, or the file that \`prices:\` in the config names. Each entry goes
to the provider at its host, or else to the one with the name of its litellm_provider. A price in the
config wins. A model without a usable price is neither imported nor served. A running gateway that
includes the file reloads its config.

Examples:
  inf-gw prices import model_prices_and_context_window.json
  inf-gw prices import prices.json --json`,
    )
    .action((file: string, _: unknown, command: Command) => importPrices(file, command));
}

interface Imported {
  readonly path: string;
  readonly importedAt: string;
  readonly source: string;
  readonly selection: Selection;
  readonly changes: Changes;
  readonly isIncluded: boolean;
}

async function importPrices(file: string, command: Command): Promise<void> {
  const config = installed(loadConfig({ ...loadOptions(command), withoutPrices: true }));
  if (config.path === undefined) {
    throw new UserError(
      `no config, so no provider has prices; make one with \`${program()} init\`, or name it with --config`,
    );
  }
  const list = readPriceList(readList(file), file);
  const path = config.prices?.path ?? join(dirname(config.path), FILE_NAME);
  const before = readPriceFile(path, path)?.providers ?? {};
  const selection = selectPrices(list, config.providers);
  if (Object.keys(selection.prices).length === 0) throw noPrices(selection);
  const imported: Imported = {
    path,
    importedAt: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
    source: basename(file),
    selection,
    changes: changesOf(before, selection.prices, config.providers),
    isIncluded: config.prices !== undefined,
  };
  const { json } = globalOptions(command);
  if (!json) printChanges(imported);
  writePriceFile(path, { ...imported, providers: selection.prices });
  const reloaded = imported.isIncluded && (await reload(config, path));
  if (json) printJson(importJson(imported, reloaded));
  else printEnd(imported, reloaded);
}

function readList(file: string): string {
  try {
    const bytes = readFileSync(file);
    if (bytes.length > MAX_LIST_BYTES)
      throw new UserError(`${file} has ${count(bytes.length)} bytes; a price list has far fewer`);
    return bytes.toString('utf8').replace(/^\u{FEFF}/u, '');
  } catch (error) {
    if (error instanceof UserError) throw error;
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new UserError(
      `cannot read ${file} (${code}); download LiteLLM's model_prices_and_context_window.json and name it`,
    );
  }
}

function noPrices({ matches, others }: Selection): UserError {
  const known = matches.filter(({ listed }) => listed.length > 0);
  const why =
    known.length === 0
      ? 'the list has no provider of this config, by host or by name'
      : `no entry for ${known.map(({ provider }) => provider).join(', ')} can be used`;
  return new UserError(
    `nothing to import: ${why} (${counted(others, 'entry', 'entries')} for other providers); nothing was written`,
  );
}

/** Whether a running gateway has the prices now. It keeps the old ones if it cannot apply its config. */
async function reload(config: Config, path: string): Promise<boolean> {
  try {
    return await reloadConfig(socketPathOf(config));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError([`${path} is written, but the running gateway keeps its config:`, ...error.lines]);
  }
}

function importJson({ path, importedAt, source, selection, changes }: Imported, reloaded: boolean) {
  return {
    path,
    imported_at: importedAt,
    source,
    providers: selection.matches.map(({ provider, listed, by }) => ({
      name: provider,
      listed_as: listed,
      matched_by: by ?? null,
      models: modelCount(selection, provider),
    })),
    changes: changes.changes.map(({ model, kind, fields }) => ({
      model,
      change: kind,
      fields: Object.fromEntries(
        fields.map(({ field, from, to }) => [field, { from: from ?? null, to: to ?? null }] as const),
      ),
    })),
    unchanged: changes.unchanged,
    skipped: skippedOf(selection).map(([reason, names]) => ({
      reason,
      message: SKIP_REASONS[reason],
      count: names.length,
      entries: names,
    })),
    other_entries: selection.others,
    reloaded,
  };
}

function modelCount({ prices }: Selection, provider: string): number {
  return Object.keys(prices[provider] ?? {}).length;
}

function skippedOf({ skipped }: Selection): (readonly [SkipReason, readonly string[]])[] {
  return [...skipped].filter(([, names]) => names.length > 0);
}

function printChanges({ selection, changes, path }: Imported): void {
  printLine('Prices in USD per million tokens.');
  printLine();
  if (changes.changes.length > 0) printTable(changesTable(changes.changes));
  const total = (wanted: ModelChange['kind']) => changes.changes.filter(({ kind }) => kind === wanted).length;
  const figures = [
    `${count(total('added'))} added`,
    `${count(total('changed'))} changed`,
    `${count(total('gone'))} gone`,
    `${count(changes.unchanged)} unchanged`,
  ];
  if (changes.changes.length > 0) printLine();
  printNote(`Compared with ${path}: ${figures.join(', ')}.`);
  const own = total('config');
  if (own > 0) printNote(`${counted(own, 'model')} with another price in the config, which wins.`);
  printLine();
  for (const match of selection.matches) printNote(matchLine(match, selection));
  printSkipped(selection);
}

function matchLine({ provider, listed, by }: Match, selection: Selection): string {
  if (by === undefined) return `${provider}: no entries; the list knows neither its host nor its name.`;
  const names = listed.join(', ');
  return `${provider}: ${counted(modelCount(selection, provider), 'model')}, listed as ${names} (by its ${by}).`;
}

function printSkipped(selection: Selection): void {
  const skipped = skippedOf(selection);
  if (skipped.length === 0) return;
  const all = skipped.reduce((sum, [, names]) => sum + names.length, 0);
  printLine();
  printLine(`${counted(all, 'entry', 'entries')} not imported:`);
  printFields(skipped.map(([reason, names]) => [`  ${count(names.length)}`, skippedText(reason, names)]));
}

function skippedText(reason: SkipReason, names: readonly string[]): string {
  const more = names.length > SHOWN_NAMES ? ', …' : '';
  return `${SKIP_REASONS[reason]} (${names.slice(0, SHOWN_NAMES).join(', ')}${more})`;
}

const TONES: Readonly<Record<ModelChange['kind'], Tone>> = {
  added: 'good',
  changed: 'warn',
  gone: 'bad',
  config: 'good',
};
const PRICE_COLUMNS = ['input', 'cached_input', 'output'];

function changesTable(changes: readonly ModelChange[]): Table {
  const cell = (fields: readonly FieldChange[], name: string) => {
    const found = fields.find(({ field }) => field === name);
    return found === undefined ? '' : changeText(found);
  };
  return {
    columns: [
      { head: 'MODEL', least: 36 },
      { head: 'CHANGE' },
      { head: 'INPUT' },
      { head: 'CACHED INPUT', rank: 2 },
      { head: 'OUTPUT' },
      { head: 'OTHER', least: 12, rank: 1 },
    ],
    rows: changes.map(({ model, kind, fields }) => [
      model,
      marked(kind, TONES[kind]),
      ...PRICE_COLUMNS.map((name) => cell(fields, name)),
      fields
        .filter(({ field }) => !PRICE_COLUMNS.includes(field))
        .map((change) => `${change.field} ${changeText(change)}`)
        .join(', '),
    ]),
  };
}

function changeText({ from, to }: FieldChange): string {
  if (from === undefined) return shown(to);
  return to === undefined ? `was ${shown(from)}` : `${shown(from)} → ${shown(to)}`;
}

/** A price without trailing zeros; other texts unchanged. */
function shown(text = '-'): string {
  const nanos = text.includes('.') ? parseUsd(text) : undefined;
  return nanos === undefined ? text : price(nanos);
}

function printEnd({ path, selection, isIncluded }: Imported, reloaded: boolean): void {
  const models = selection.matches.reduce((sum, { provider }) => sum + modelCount(selection, provider), 0);
  printLine();
  printLine(`Wrote ${path}: ${counted(models, 'model')}.`);
  if (reloaded) printLine(CONFIG_RELOADED);
  if (!isIncluded) {
    notice(
      `The config does not include it yet: add \`prices: ./${basename(path)}\`, and \`models: { "*": {} }\` to a provider.`,
    );
  }
}
