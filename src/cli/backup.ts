/** `backup` and `restore`: copies the state file, and replaces it by a copy. */

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { UserError } from '../core/errors.ts';
import { program } from '../core/program.ts';
import { bytes, dateTime } from '../operator/format.ts';
import { backUpState, isMissingFile, restoreState } from '../state/open.ts';
import { differencesIn } from './audit.ts';
import { isConfirmed } from './confirm.ts';
import { printJson, printLine } from './output.ts';
import { showProgress } from './progress.ts';
import { configOf, configOrDefaults, globalOptions } from './state.ts';

export function registerBackup(program: Command): void {
  program
    .command('backup')
    .description('copy the state file as of one moment, even while the gateway runs')
    .argument('<file>', 'a file that does not exist yet')
    .addHelpText(
      'after',
      `
The copy is private, synced and audited before it gets its name; a backup that fails leaves nothing
behind. It records requests in flight as open: after a restore, the next start charges their holds.

Examples:
  inf-gw backup /backup/inf-gw.db
  inf-gw backup "/backup/$(date +%F).db" --json`,
    )
    .action((file: string, _: unknown, command: Command) => backup(file, command));
}

export function registerRestore(program: Command): void {
  program
    .command('restore')
    .description('replace the state file with a backup; no gateway may be running')
    .argument('<file>', 'a file made by `backup`, or another copy of a state file')
    .option('--yes', 'replace an existing state without asking')
    .addHelpText(
      'after',
      `
The backup is audited first. The state that it replaces is kept beside it, with the time in its name.

Examples:
  inf-gw restore /backup/inf-gw.db
  inf-gw restore /backup/inf-gw.db --yes --config /etc/inf-gw/config.yaml`,
    )
    .action((file: string, options: { yes?: true }, command: Command) => restore(file, options, command));
}

async function backup(name: string, command: Command): Promise<void> {
  const { state, statePath } = configOf(command);
  const file = resolve(name);
  const size = await interruptible('nothing was left behind', (signal) =>
    backUpState(state, file, { signal, onProgress: showPages, verify: auditing('the copy', signal) }),
  );
  if (globalOptions(command).json) return printJson({ state: statePath, file, bytes: size });
  printLine(`Backed up to ${file} (${bytes(size)}). To put it back: ${program('restore', file)}`);
}

async function restore(name: string, options: { yes?: true }, command: Command): Promise<void> {
  const { state, statePath } = configOrDefaults(command);
  const file = resolve(name);
  const isReplacing = !isMissingFile(state);
  const mustAsk = state.kind === 'file' && isReplacing && !options.yes;
  const kept = await interruptible('nothing was changed', (signal) =>
    restoreState(state, file, {
      signal,
      onProgress: showPages,
      verify: auditing(file, signal),
      confirm: async () => {
        if (mustAsk) await askToReplace(statePath, file, signal);
      },
    }),
  );
  if (globalOptions(command).json) return printJson({ state: statePath, file, replaced: kept ?? null });
  printLine(
    `Restored ${statePath} from ${file}.${kept === undefined ? '' : ` The previous state is kept as ${kept}.`}`,
  );
}

async function askToReplace(statePath: string, file: string, signal: AbortSignal): Promise<void> {
  if (!process.stdin.isTTY) {
    throw new UserError(`there is a state at ${statePath}, and no terminal to ask on; to replace it, use --yes`);
  }
  const { size, mtimeMs } = statSync(statePath);
  const facts = `${bytes(size)}, last written ${dateTime(mtimeMs)} UTC`;
  if (await isConfirmed(`Replace ${statePath} (${facts}) with ${file}? (y/N) `, signal)) return;
  signal.throwIfAborted();
  throw new UserError('nothing was changed; to replace the state, answer y or use --yes');
}

function showPages(copied: number, of: number): void {
  showProgress('copied', copied, of, 'pages');
}

/** An audit that rejects with its differences. */
function auditing(what: string, signal: AbortSignal): (draft: string) => Promise<void> {
  return async (draft) => {
    const { auditInThread } = await import('../audit/in-thread.ts');
    const onProgress = (read: number, of: number) => showProgress('read', read, of, 'journal rows');
    const differences = differencesIn(await auditInThread(draft, { onProgress, signal }));
    if (differences.length === 0) return;
    throw new UserError([`${what} does not agree with itself, so it was not used`, ...differences]);
  };
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs `work` with a signal that is aborted with a UserError. `outcome`: the state after an interruption, for the error. */
async function interruptible<T>(outcome: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const interrupt = () => controller.abort(new UserError(`interrupted; ${outcome}`));
  for (const signal of SIGNALS) process.once(signal, interrupt);
  try {
    return await work(controller.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}
