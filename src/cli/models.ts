/** `models`: lists the models that the running gateway serves, or that the config would give. */

import type { Command } from 'commander';
import { readModels } from '../control/client.ts';
import { socketPathOf } from '../control/protocol.ts';
import { modelRows } from '../gateway/served.ts';
import { notice, printJson, printLine, printTable } from './output.ts';
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
  // The gateway may have been started with other variables, and may not have reloaded the config.
  const served = await readModels(socketPathOf(config));
  const rows = served ?? modelRows(config);
  if (globalOptions(command).json) return printJson(rows);
  if (rows.length === 0) return printLine('No models in the config. See config.example.yaml for how to add some.');
  printLine('Prices in USD per million tokens.');
  printLine();
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
      served === undefined
        ? 'A model is active if the variables of its provider are set in this shell; the gateway may be started with others.'
        : 'The gateway was started without a variable that the providers of the other models need; see `status`.',
    );
  }
}
