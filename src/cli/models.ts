/** `models`: the catalog. */

import type { Command } from 'commander';
import { Catalog } from '../catalog/catalog.ts';
import { formatUsd } from '../core/money.ts';
import { notice, printJson, printLine, printTable } from './output.ts';
import { configOf, globalOptions } from './state.ts';

export function registerModels(program: Command): void {
  program
    .command('models')
    .description('the models in the config, their prices, and whether they can be called')
    .addHelpText('after', '\nExamples:\n  inf-gw models\n  inf-gw models --json')
    .action((_: unknown, command: Command) => models(command));
}

function models(command: Command): void {
  const catalog = new Catalog(configOf(command).providers);
  const rows = catalog.models.map((model) => ({
    id: model.id,
    provider: model.provider,
    upstream: model.upstream,
    input_usd: formatUsd(model.input),
    cached_input_usd: formatUsd(model.cachedInput),
    output_usd: formatUsd(model.output),
    active: model.active,
  }));
  if (globalOptions(command).json) return printJson(rows);
  if (rows.length === 0)
    return printLine('There are no models in the config; config.example.yaml shows how to name some.');
  printLine('Prices in USD per million tokens.\n');
  printTable(
    [
      { head: 'MODEL' },
      { head: 'UPSTREAM', rank: 1 },
      { head: 'INPUT', usd: true },
      { head: 'CACHED INPUT', usd: true },
      { head: 'OUTPUT', usd: true },
      { head: 'ACTIVE' },
    ],
    rows.map((row) => [
      row.id,
      row.upstream,
      row.input_usd,
      row.cached_input_usd,
      row.output_usd,
      row.active ? 'yes' : 'no',
    ]),
  );
  if (rows.some(({ active }) => !active)) {
    notice('Active are those whose variables are set in this shell; a gateway that runs may have others.');
  }
}
