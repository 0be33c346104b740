/** What the figures depend on: the machine, the versions, and the date. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, tmpdir, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { CHECKOUT } from './contestants.ts';

const BYTES_PER_GB = 1024 ** 3;

/** Above this load average, something else was running. */
const IDLE_LOAD = 0.5;

/** The machine as it was before the first measurement. */
export interface Machine {
  readonly text: string;
  readonly wasIdle: boolean;
}

export function describeMachine(): Machine {
  const [load = 0] = loadavg();
  const hardware = `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / BYTES_PER_GB)} GB`;
  const lines = [
    `- ${new Date().toISOString().slice(0, 10)}; ${hardware}; ${type()} ${release()}; state files in ${tmpdir()}`,
    `- inf-gw ${versionOf('.')}${commit()}; Node ${process.version.slice(1)}; undici ${versionOf('node_modules/undici')}; better-sqlite3 ${versionOf('node_modules/better-sqlite3')}`,
    `- load average before the start: ${load.toFixed(2)}`,
  ];
  return { text: lines.join('\n'), wasIdle: load < IDLE_LOAD };
}

/** The version of the package in a directory of the checkout. */
function versionOf(folder: string): string {
  return (JSON.parse(readFileSync(join(CHECKOUT, folder, 'package.json'), 'utf8')) as { version: string }).version;
}

/** The commit of the checkout in brackets; empty without a Git history. */
function commit(): string {
  try {
    const args = ['describe', '--always', '--dirty', '--abbrev=10'];
    return ` (${execFileSync('git', args, { cwd: CHECKOUT, encoding: 'utf8', stdio: 'pipe' }).trim()})`;
  } catch {
    return '';
  }
}
