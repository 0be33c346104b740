/** `doctor`: finds problems that keep a gateway from serving, with their remedies. */
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { UserError } from '../core/errors.ts';
import { counted } from '../core/plural.ts';
import type { Finding } from '../doctor/doctor.ts';
import type { Tone } from '../operator/health.ts';
import { printJson, printLine, printMarked, printText } from './output.ts';
import { configOrDefaults, globalOptions } from './state.ts';

const ERRORS_FOUND = 1;
const STYLES: Readonly<Record<Finding['status'], Tone>> = { ok: 'good', warning: 'warn', error: 'bad' };
/** The width of the longest status, with the blanks after it. */
const INDENT = 9;

export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check config, address, state, machine and providers; exit with status 1 if serving would fail')
    .addHelpText(
      'after',
      `
Providers are asked for their list of models, and for nothing that costs. If a gateway runs on this
state, it is asked whether it is ready. Nothing is changed.

Examples:
  inf-gw doctor
  inf-gw doctor --config /etc/inf-gw/config.yaml --json`,
    )
    .action((_: unknown, command: Command) => doctor(command));
}

async function doctor(command: Command): Promise<void> {
  const findings = await findingsOf(command);
  const errors = findings.filter(({ status }) => status === 'error').length;
  const warnings = findings.filter(({ status }) => status === 'warning').length;
  if (errors > 0) process.exitCode = ERRORS_FOUND;
  if (globalOptions(command).json) return printJson({ ok: errors === 0, checks: findings.map(findingJson) });
  for (const [index, { name, status, message, fix }] of findings.entries()) {
    printMarked(status.padEnd(INDENT), STYLES[status], `${name}: ${message}`);
    // Several findings with the same remedy, such as providers without keys, show it once, below the last.
    if (fix !== undefined && fix !== findings[index + 1]?.fix) printText(fix, { indent: INDENT });
  }
  printLine();
  printLine(
    errors + warnings === 0 ? 'Nothing is wrong.' : `${counted(errors, 'error')}, ${counted(warnings, 'warning')}.`,
  );
}

/** Runs the checks. Without a readable config, only the config itself is checked. */
async function findingsOf(command: Command): Promise<readonly Finding[]> {
  // Loaded here so that other commands start faster.
  const { examine, examineWithoutConfig } = await import('../doctor/doctor.ts');
  let config: Config;
  try {
    config = configOrDefaults(command);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return examineWithoutConfig(error.lines);
  }
  return examine(config, process.env);
}

function findingJson({ name, status, message, fix }: Finding) {
  return { name, status, message, fix: fix ?? null };
}
