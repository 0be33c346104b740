/** `audit`: checks that the figures in a state agree with each other. */

import type { Command } from 'commander';
import type { Check } from '../audit/audit.ts';
import { UserError } from '../core/errors.ts';
import { count } from '../operator/format.ts';
import { marked } from '../operator/table.ts';
import type { Contents } from '../state/move.ts';
import { openContents } from '../state/open.ts';
import type { OpenState } from '../state/state.ts';
import { notice, printJson, printLine, printTable } from './output.ts';
import { showProgress } from './progress.ts';
import { configOf, globalOptions, withState } from './state.ts';

const DIFFERENCES_FOUND = 1;

export function registerAudit(program: Command): void {
  program
    .command('audit')
    .description('check that balance, totals, holds and journal agree; safe while gateways run')
    .option(
      '--accept-losses',
      'take note of what a database has lost of its log: it is no difference from then on, and still shown',
    )
    .addHelpText('after', '\nExamples:\n  inf-gw audit\n  inf-gw audit --json')
    .action(async ({ acceptLosses }: { readonly acceptLosses?: true }, command: Command) => {
      if (acceptLosses) await withState(command, noteLosses);
      await run(command);
    });
}

async function noteLosses({ nodes }: Pick<OpenState, 'nodes'>): Promise<void> {
  if (nodes === undefined)
    throw new UserError('--accept-losses is for a state in PostgreSQL: a state file has no log to lose');
  await nodes.acceptLosses();
}

/** Runs the checks and shows their progress. Rejects with a UserError. */
export async function auditContents(contents: Contents): Promise<readonly Check[]> {
  // Loaded here so that other commands start faster.
  const { audit, auditDatabase } = await import('../audit/audit.ts');
  const onProgress = (read: number, of: number) => showProgress('read', read, of, 'journal rows');
  switch (contents.kind) {
    case 'file':
      return audit(contents.path, { onProgress });
    case 'database':
      return auditDatabase(contents.read, { onProgress });
  }
}

async function run(command: Command): Promise<void> {
  const { state, statePath } = configOf(command);
  const { contents, close } = await openContents(state);
  const checks = await auditContents(contents).finally(close);
  const ok = checks.every(({ differences }) => differences.length === 0);
  if (!ok) process.exitCode = DIFFERENCES_FOUND;
  if (globalOptions(command).json) return printJson({ ok, path: statePath, checks: checks.map(checkJson) });
  printTable({
    columns: [{ head: 'CHECK', least: 12 }, { head: 'ROWS', number: true }, { head: 'RESULT' }],
    rows: checks.map(({ name, rows, differences }) => [
      name,
      count(rows),
      differences.length === 0 ? marked('agrees', 'good') : marked('DIFFERS', 'bad'),
    ]),
  });
  printLine();
  printLine(ok ? `${statePath}: everything agrees.` : `${statePath}: not everything agrees.`);
  for (const { name, notes = [] } of checks) for (const note of notes) notice(`note: ${name}: ${note}`);
  for (const line of differencesIn(checks)) notice(`error: ${line}`);
}

/** One line per difference. */
export function differencesIn(checks: readonly Check[]): string[] {
  return checks.flatMap(({ name, differences }) => differences.map((difference) => `${name}: ${difference}`));
}

function checkJson({ name, rows, differences, notes = [] }: Check) {
  return { check: name, rows, differences, notes };
}
