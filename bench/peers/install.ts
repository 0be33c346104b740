/** Brings the packages that are measured, where they are not there yet: the exact ones of the lock file beside this. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = import.meta.dirname;

/** Throws where npm does, without a registry say. */
export function installPeers(): void {
  if (isInstalled()) return;
  console.error('npm ci --prefix bench/peers');
  execFileSync('npm', ['ci', '--prefix', FOLDER], { stdio: ['ignore', 'ignore', 'inherit'] });
}

function isInstalled(): boolean {
  const { dependencies } = readJson('package.json') as { dependencies: Record<string, string> };
  return Object.entries(dependencies).every(([name, version]) => {
    const path = join('node_modules', name, 'package.json');
    return existsSync(join(FOLDER, path)) && (readJson(path) as { version: string }).version === version;
  });
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(FOLDER, path), 'utf8'));
}
