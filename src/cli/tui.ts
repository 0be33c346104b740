/** `tui`: opens the dashboard. */
import { type Command, Option } from 'commander';
import { UserError } from '../core/errors.ts';
import { program } from '../core/program.ts';
import type { Background } from '../tui/theme.ts';
import { configOf, globalOptions } from './state.ts';

interface TuiOptions {
  readonly readOnly?: boolean;
  readonly mouse: boolean;
  readonly screenReader?: boolean;
  readonly theme?: Background;
}

export function registerTui(program: Command): void {
  program
    .command('tui')
    .description('open the dashboard: live figures, and everything you can do with keys, limits, budgets and credit')
    .option('--read-only', 'show everything but change nothing')
    .option('--no-mouse', 'leave clicks and the wheel to the terminal, which then selects text without Shift')
    .option('--screen-reader', 'read each view as text, for a screen reader; INK_SCREEN_READER=true does the same')
    .addOption(
      new Option('--theme <background>', 'colours for this background; by default the terminal is asked').choices([
        'dark',
        'light',
      ]),
    )
    .addHelpText('after', '\nExamples:\n  inf-gw tui     press ? for help\n  inf-gw tui --read-only')
    .action((options: TuiOptions, command: Command) => tui(options, command));
}

async function tui(options: TuiOptions, command: Command): Promise<void> {
  const { readOnly: isReadOnly = false, mouse: hasMouse, theme } = options;
  const { screenReader: isScreenReader = process.env.INK_SCREEN_READER === 'true' } = options;
  if (globalOptions(command).json) {
    command.error(`error: the dashboard has no --json; use \`${program()} status --json\`, \`usage\` or \`keys list\``);
  }
  const readConfig = () => configOf(command);
  // Without an installation, the dashboard could not show anything even on a terminal.
  readConfig();
  refuseWithoutTerminal();
  const { setFlagsFromString } = await import('node:v8');
  // Drawing makes much garbage and keeps little. Letting it pile up took 50 MB more.
  for (const flag of ['--semi-space-growth-factor=1', '--heap-growing-percent=10']) setFlagsFromString(flag);
  // Otherwise React keeps a record of every render for its developer tools.
  process.env.NODE_ENV ??= 'production';
  // Ink takes some terminals for one of 16 colours, which themes change.
  process.env.FORCE_COLOR ??= '2';
  // Loaded here so that other commands start faster.
  const [{ draw }, { Session }, { lookOf }, { askBackground }] = await Promise.all([
    import('../tui/app.ts'),
    import('../tui/session.ts'),
    import('../tui/theme.ts'),
    import('../tui/background.ts'),
  ]);
  const background = theme ?? (await askBackground(process.stdin, process.stdout, process.env));
  const { columns, rows } = process.stdout;
  const session = await Session.open(
    readConfig,
    { columns, rows, copy },
    {
      isReadOnly,
      configOption: globalOptions(command).config,
    },
  );
  try {
    await draw(session, undefined, { hasMouse, isScreenReader, look: lookOf(process.env, background) });
  } finally {
    await session.close();
  }
}

/** Throws a UserError if the terminal cannot draw or read keys. */
function refuseWithoutTerminal(): void {
  const instead = `use \`${program()} status\`, or in scripts \`status --json\`, \`usage\` and \`keys list\``;
  if (!process.stdin.isTTY || !process.stdout.isTTY) throw new UserError(`the dashboard needs a terminal; ${instead}`);
  if (process.env.TERM === 'dumb') {
    throw new UserError(`the dashboard needs a terminal that can move its cursor, and TERM is dumb; ${instead}`);
  }
}

/** Copies with OSC 52 to the clipboard of the terminal's machine, also over SSH. */
function copy(text: string): void {
  process.stdout.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`);
}
