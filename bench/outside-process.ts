/** A process without the probe. Its usage is read from /proc, so this works on Linux only. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { endWithThisProcess, type Measured, stop } from './children.ts';
import type { Usage } from './messages.ts';

/**
 * Fields of /proc/<pid>/stat, counted from the state: user time, kernel time, and resident pages.
 */
const FIELDS = { user: 11, system: 12, pages: 21 };

function configured(name: string): number {
  return Number(execFileSync('getconf', [name], { encoding: 'utf8' }));
}

export class OutsideProcess implements Measured {
  readonly #child: ChildProcess;
  readonly #ticksPerSecond = configured('CLK_TCK');
  readonly #pageBytes = configured('PAGESIZE');

  constructor(child: ChildProcess) {
    this.#child = child;
    endWithThisProcess(child);
  }

  async usage(): Promise<Usage> {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8');
    // The name of the program is in parentheses, and may contain spaces.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const ticks = (fields[FIELDS.user] ?? 0) + (fields[FIELDS.system] ?? 0);
    return {
      cpuMicroseconds: (ticks / this.#ticksPerSecond) * 1e6,
      rssBytes: (fields[FIELDS.pages] ?? 0) * this.#pageBytes,
    };
  }

  usageAfterGc(): Promise<Usage> {
    return this.usage();
  }

  stop(): Promise<void> {
    return stop(this.#child);
  }
}
