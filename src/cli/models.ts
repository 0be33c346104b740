/** `models`: lists the models of the running gateway, or else of the config. */

import type { Command } from 'commander';
import { readModels } from '../control/client.ts';
import { type ModelRow, socketPathOf } from '../control/protocol.ts';
import { parseUsd } from '../core/money.ts';
import { unitText } from '../core/units.ts';
import { modelRows } from '../gateway/served.ts';
import { price } from '../operator/format.ts';
import { type Look, marked, type Table } from '../operator/table.ts';
import { look, notice, printJson, printLine, printTable } from './output.ts';
import { configOf, globalOptions } from './state.ts';

export function registerModels(program: Command): void {
  program
    .command('models')
    .description('list the models of the running gateway, or of the config: prices, and whether they are active')
    .addHelpText('after', '\nExamples:\n  inf-gw models\n  inf-gw models --json')
    .action((_: unknown, command: Command) => models(command));
}

async function models(command: Command): Promise<void> {
  const config = configOf(command);
  // The gateway may have other variables, or an older config.
  const served = await readModels(socketPathOf(config));
  const rows = served ?? modelRows(config);
  if (globalOptions(command).json) return printJson(rows.map(modelJson));
  if (rows.length === 0) return printLine('No models in the config. See config.example.yaml for how to add some.');
  printLine('Prices in USD per million tokens.');
  printLine();
  printTable(modelsTable(rows, look()));
  if (rows.some(({ active }) => !active)) {
    notice(
      served === undefined
        ? 'A model is active if the variables of its provider are set in this shell; the gateway may be started with others.'
        : 'The gateway was started without a variable that the providers of the other models need; see `status`.',
    );
  }
}

/** Without aliases and media in the config, the columns for them are omitted. */
function modelJson({ dialects: _, aliases = [], media = {}, units = {}, ...row }: ModelRow): object {
  return { ...row, ...media, ...units, ...(aliases.length > 0 && { aliases }) };
}

export function modelsTable(rows: readonly ModelRow[], { room }: Look): Table {
  // On a terminal, prices have no trailing zeros.
  const shown = (usd: string | null) => (usd === null ? '-' : room === undefined ? usd : price(parseUsd(usd) ?? 0n));
  const hasUnits = rows.some(({ units = {} }) => Object.keys(units).length > 0);
  const hasMedia = rows.some(({ media = {} }) => Object.keys(media).length > 0);
  const hasAliases = rows.some(({ aliases = [] }) => aliases.length > 0);
  return {
    columns: [
      { head: 'MODEL', least: 16 },
      { head: 'UPSTREAM', least: 12, rank: 3 },
      { head: 'INPUT', price: true },
      { head: 'CACHED INPUT', price: true, rank: 2 },
      { head: 'OUTPUT', price: true },
      ...(hasMedia ? [{ head: 'AUDIO AND IMAGES', rank: 3 }] : []),
      ...(hasUnits ? [{ head: 'UNITS', rank: 2 }] : []),
      { head: 'ACTIVE', rank: 1 },
      ...(hasAliases ? [{ head: 'ALIASES', rank: 4 }] : []),
    ],
    rows: rows.map((row) => [
      row.id,
      row.upstream,
      shown(row.input_usd),
      shown(row.cached_input_usd),
      shown(row.output_usd),
      ...(hasMedia ? [mediaText(row)] : []),
      ...(hasUnits ? [unitsText(row)] : []),
      row.active ? marked('yes', 'good') : marked('no', 'warn'),
      ...(hasAliases ? [row.aliases?.join(', ') ?? ''] : []),
    ]),
  };
}

/** Prices of media: `1.00 audio_input, 30.00 image_output`. */
function mediaText({ media = {} }: ModelRow): string {
  const texts = Object.entries(media).map(([name, usd]) => `${usd} ${name.replace('_usd', '')}`);
  return texts.join(', ');
}

/** Prices of units: `0.0001 per second`. */
function unitsText({ units = {} }: ModelRow): string {
  const texts = Object.entries(units).map(([name, usd]) => `${usd} ${unitText(name).replace('_usd', '')}`);
  return texts.join(', ');
}
