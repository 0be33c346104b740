/** Runs the `audit` command in a child process and reports its progress and result to the dashboard. */
import { spawn } from 'node:child_process';
import { ownCommand } from '../core/program.ts';
import { countOf } from '../operator/format.ts';
import type { Event } from './update/step.ts';

type Told = Extract<Event, { kind: 'audit_progress' | 'audit_ended' }>;

/** Maximum output that is kept; a complete audit report is shorter. */
const MAX_OUTPUT_CHARACTERS = 4_000_000;

/** The output of `audit --json`. */
interface Verdict {
  readonly ok: boolean;
  readonly path: string;
  readonly checks: readonly {
    readonly check: string;
    readonly rows: number;
    readonly differences: readonly string[];
    readonly notes: readonly string[];
  }[];
}

/**
 * Starts the audit and reports its progress, then its result unless `stop` was called. The audit of a state file is
 * synchronous: in a child process it does not block key presses, and `stop` can kill it at any time.
 */
export function startAudit(
  configOption: string | undefined,
  tell: (told: Told) => void,
  [program, ...start] = ownCommand(),
): { stop(): void } {
  const config = configOption === undefined ? [] : ['--config', configOption];
  const child = spawn(program, [...start, ...config, 'audit', '--json'], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  let [output, errors, isOver] = ['', '', false];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (output.length < MAX_OUTPUT_CHARACTERS) output += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (errors.length < MAX_OUTPUT_CHARACTERS) errors += text;
  });
  child.on('message', ({ done, of }: { done: number; of: number }) => {
    if (!isOver) tell({ kind: 'audit_progress', read: done, of });
  });
  const end = (told: Told) => {
    if (!isOver) tell(told);
    isOver = true;
  };
  child.once('error', (error) => end(failed([error.message])));
  child.once('close', () => end(output === '' ? failed(errors.trim().split('\n')) : verdictOf(JSON.parse(output))));
  return {
    stop() {
      isOver = true;
      child.kill();
    },
  };
}

function failed(lines: readonly string[]): Told {
  return { kind: 'audit_ended', title: 'The audit failed.', lines, tone: 'bad' };
}

function verdictOf({ ok, path, checks }: Verdict): Told {
  const lines = checks.flatMap(({ check, rows, differences, notes }) => [
    `${check}: ${differences.length === 0 ? `${countOf(rows, 'row')}, agrees` : `${countOf(rows, 'row')}, DIFFERS`}`,
    ...[...differences, ...notes].map((line) => `- ${line}`),
  ]);
  const title = `${path}: ${ok ? 'everything agrees.' : 'not everything agrees.'}`;
  return { kind: 'audit_ended', title, lines, tone: ok ? 'good' : 'bad' };
}
