/** `tui`: the dashboard. */
import type { Command } from 'commander';
import { UserError } from '../core/errors.ts';
import { configOf } from './state.ts';

export function registerTui(program: Command): void {
  program
    .command('tui')
    .description('the dashboard: live figures, and everything that can be done to keys, limits and credit')
    .addHelpText('after', '\nExample:\n  inf-gw tui     press ? for its keys')
    .action((_: unknown, command: Command) => tui(command));
}

async function tui(command: Command): Promise<void> {
  const readConfig = () => configOf(command);
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new UserError(
      'the dashboard needs a terminal; for programs and pipes there are `status --json`, `usage` and `keys list`',
    );
  }
  const { setFlagsFromString } = await import('node:v8');
  // A screen makes much garbage and keeps little: to let it lie took 50 MB more.
  for (const flag of ['--semi-space-growth-factor=1', '--heap-growing-percent=10']) setFlagsFromString(flag);
  // Else React keeps a record of every drawing, for its developers.
  process.env.NODE_ENV ??= 'production';
  // Loaded here, so that the other commands need not wait for it.
  const [{ draw }, { Session }] = await Promise.all([import('../tui/app.ts'), import('../tui/session.ts')]);
  const { columns, rows } = process.stdout;
  const session = new Session(readConfig, { columns, rows, copy });
  try {
    await draw(session);
  } finally {
    session.close();
  }
}

/** Terminals that understand this put the text into the clipboard of the machine that they run on, also over ssh. */
function copy(text: string): void {
  process.stdout.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`);
}
