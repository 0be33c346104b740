/** `models`: lists the catalog. */

import type { Command } from 'commander';
import { Catalog } from '../catalog/catalog.ts';
import { formatUsd } from '../core/money.ts';
import { notice, printJson, printLine, printTable } from './output.ts';
import { configOf, globalOptions } from './state.ts';

export function registerModels(program: Command): void {
  program
    .command('models')
    .description('list the models in the config, with their prices and whether they are active')
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
  if (rows.length === 0) return printLine('No models in the config. See config.example.yaml for how to add some.');
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
    notice(
      'A model is active if the variables of its provider are set in this shell; a running gateway may have others.',
    );
  }
}
