/** What figures depend on: the machine, the versions, and the day. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, tmpdir, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { CHECKOUT } from './contestants.ts';

const BYTES_PER_GB = 1024 ** 3;

/** Above this something else was at work beside the benchmark. */
const IDLE_LOAD = 0.5;

/** To be taken before anything is measured. */
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

/** Of the package in a folder of the checkout. */
export function versionOf(folder: string): string {
  return (JSON.parse(readFileSync(join(CHECKOUT, folder, 'package.json'), 'utf8')) as { version: string }).version;
}

/** Nothing where the checkout has no history. */
function commit(): string {
  try {
    const words = ['describe', '--always', '--dirty', '--abbrev=10'];
    return ` (${execFileSync('git', words, { cwd: CHECKOUT, encoding: 'utf8', stdio: 'pipe' }).trim()})`;
  } catch {
    return '';
  }
}
