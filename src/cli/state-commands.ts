/** `state`: moves the state to another store, and grants rights to database roles. */

import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { buildState } from '../config/state.ts';
import { UserError } from '../core/errors.ts';
import { resolveLinks } from '../core/files.ts';
import { formatUsd } from '../core/money.ts';
import { counted } from '../core/plural.ts';
import { type StateLocation, showState } from '../core/state-location.ts';
import { count, usd } from '../operator/format.ts';
import { type Contents, type Moved, moveState } from '../state/move.ts';
import { grantToRole, openSource, openTarget } from '../state/open.ts';
import { auditContents, differencesIn } from './audit.ts';
import { isTerminal, notice, printJson, printLine, printTable } from './output.ts';
import { showProgress } from './progress.ts';
import { configOf, globalOptions, variablesOf } from './state.ts';

export function registerState(program: Command): void {
  const state = program
    .command('state')
    .description('move the state to another store, or let a database role run gateways on it');

  state
    .command('migrate')
    .description('move everything to an empty state; no gateway may be running, and the source stays as it is')
    .requiredOption('--to <state>', `a file, or the address of a database; \${NAME} is a variable, as in the config`)
    .addHelpText(
      'after',
      `
Everything moves: keys and their settings, credit, the journal, sums, refusals, and what the limits
of the last minute have counted. Both sides are audited and compared; if anything fails, the target
stays empty. Requests that a killed gateway left open move as they are: the next start charges what
they hold, as it would have done on the source.

Examples:
  inf-gw state migrate --to 'postgres://gateway:\${PASSWORD}@db.example/gateway'
  inf-gw state migrate --to ./inf-gw.db`,
    )
    .action((options: { to: string }, command: Command) => migrate(options.to, command));

  state
    .command('grant')
    .description('grant a database role what a gateway needs, and no more')
    .argument('<role>', 'an existing role, spelled exactly')
    .addHelpText(
      'after',
      `
Whoever created the tables owns them and may do everything. A gateway needs less: with a role of its
own it can decide on requests and read, but cannot edit keys, credit or the journal. Its config then
names that role in \`state:\`, while commands that change something use the owner's. The role cannot
drop requests that \`journal_retention\` in this config keeps: grant again after you change that.

Examples:
  psql -c "CREATE ROLE gateway_eu LOGIN PASSWORD '…'"
  inf-gw state grant gateway_eu`,
    )
    .action((role: string, _: unknown, command: Command) => grant(role, command));
}

async function migrate(to: string, command: Command): Promise<void> {
  const config = configOf(command);
  const [from, target] = [config.state, locationOf(to, config)];
  if (placeOf(from) === placeOf(target)) {
    throw new UserError(`${showState(from)} is where the state is already; name another place with --to`);
  }
  // Checked first, so that no target is created if the source cannot be moved.
  const source = await openSource(from);
  try {
    const filled = await openTarget(target);
    try {
      // If the move fails, a database keeps its empty tables. A file is created at the end of the move.
      if (target.kind === 'postgres' && filled.created !== undefined) notice(`created ${filled.created}`);
      const options = {
        verify: assertAgrees,
        onProgress: (copied: number, of: number) => showProgress('copied', copied, of, 'rows'),
      };
      const moved = await moveState(source, filled, options);
      if (target.kind === 'file' && filled.created !== undefined) notice(`created ${filled.created}`);
      printMoved(moved, from, target, config.path, command);
    } finally {
      await filled.close();
    }
  } finally {
    await source.close();
  }
}

/** The location that `--to` names, with references as in the config. Throws a UserError. */
function locationOf(to: string, config: Config): StateLocation {
  const problems: string[] = [];
  const source = { environment: variablesOf(config), baseDirectory: process.cwd() };
  const location = buildState(to, source, (problem) => problems.push(`--to: ${problem}`));
  if (problems.length > 0) throw new UserError(problems);
  return location;
}

/** Equal for two spellings of the same location. */
function placeOf(location: StateLocation): string {
  if (location.kind === 'file') return resolveLinks(location.path);
  const { host, port, database } = location.address;
  return JSON.stringify([host, port, database]);
}

async function assertAgrees(contents: Contents, side: 'source' | 'target'): Promise<void> {
  const differences = differencesIn(await auditContents(contents));
  if (differences.length === 0) return;
  const what = side === 'source' ? 'the state does not agree with itself' : 'the copy does not agree with itself';
  throw new UserError([`${what}, so nothing was moved; \`audit\` checks it again`, ...differences]);
}

function printMoved(
  { rows, balanceNanos }: Moved,
  from: StateLocation,
  to: StateLocation,
  configPath: string | undefined,
  command: Command,
): void {
  const shown = showState(to);
  if (globalOptions(command).json) {
    return printJson({ from: showState(from), to: shown, rows, balance_usd: formatUsd(balanceNanos) });
  }
  printTable({
    columns: [{ head: 'TABLE' }, { head: 'ROWS', number: true }],
    rows: Object.entries(rows).map(([table, number]) => [table, count(number)]),
  });
  printLine();
  printLine(
    `Moved to ${shown}, with a balance of ${isTerminal() ? usd(balanceNanos) : formatUsd(balanceNanos)} USD. Both sides agree.`,
  );
  if (rows.holds > 0) {
    printLine(`${counted(rows.holds, 'request')} had been left open; the next start charges what was held.`);
  }
  const secret = shown.includes(':***@') ? ', with the password in place of ***' : '';
  printLine(`${showState(from)} is as it was. Now set in ${configPath ?? 'a config.yaml'}${secret}:`);
  printLine(`  state: ${shown}`, 'bold');
}

async function grant(role: string, command: Command): Promise<void> {
  const { state, journalRetentionMs } = configOf(command);
  if (state.kind === 'file') {
    throw new UserError(
      `${state.path} is a file, and a file has no roles: its permissions say who may use it; grant needs \`state: postgres://…\``,
    );
  }
  const created = await grantToRole(state.address, role, journalRetentionMs);
  if (created !== undefined) notice(`created ${created}`);
  if (globalOptions(command).json) return printJson({ role, state: showState(state) });
  printLine(`${role} can run gateways on ${showState(state)}.`);
}
