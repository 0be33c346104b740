/** `audit`: checks that the figures in a state file agree with each other. */

import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { Check } from '../audit/audit.ts';
import { UserError } from '../core/errors.ts';
import { count } from '../operator/format.ts';
import { closeToOthers } from '../state/sqlite/open-state.ts';
import { notice, printJson, printLine, printTable } from './output.ts';
import { configOf, globalOptions } from './state.ts';

/** A shorter journal is read too quickly for progress to be worth showing. */
const LONG_JOURNAL_ROWS = 200_000;
const DIFFERENCES_FOUND = 1;

export function registerAudit(program: Command): void {
  program
    .command('audit')
    .description('check that balance, totals, holds and journal agree; safe while a gateway runs')
    .addHelpText('after', '\nExamples:\n  inf-gw audit\n  inf-gw audit --json')
    .action((_: unknown, command: Command) => run(command));
}

async function run(command: Command): Promise<void> {
  const { statePath } = configOf(command);
  if (!existsSync(statePath))
    throw new UserError(`no state file at ${statePath}; serve, keys create or credit add creates it`);
  closeToOthers(statePath);
  // Loaded here so that other commands do not wait for it.
  const { audit } = await import('../audit/audit.ts');
  const checks = audit(statePath, { onProgress: showProgress });
  const ok = checks.every(({ differences }) => differences.length === 0);
  if (!ok) process.exitCode = DIFFERENCES_FOUND;
  if (globalOptions(command).json) return printJson({ ok, path: statePath, checks: checks.map(checkJson) });
  printTable(
    [{ head: 'CHECK' }, { head: 'ROWS', number: true }, { head: 'RESULT' }],
    checks.map(({ name, rows, differences }) => [name, count(rows), differences.length === 0 ? 'agrees' : 'DIFFERS']),
  );
  printLine();
  printLine(ok ? `${statePath}: everything agrees.` : `${statePath}: not everything agrees.`);
  for (const { name, differences } of checks)
    for (const difference of differences) notice(`error: ${name}: ${difference}`);
}

function checkJson({ name, rows, differences }: Check) {
  return { check: name, rows, differences };
}

/** Updates one line in place, where a person is watching. */
function showProgress(read: number, of: number): void {
  if (of < LONG_JOURNAL_ROWS || !process.stderr.isTTY) return;
  process.stderr.write(`\rread ${count(read)} of ${count(of)} journal rows${read >= of ? '\n' : ''}`);
}
