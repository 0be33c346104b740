/**
 * Installs the packages to measure, unless they are there: the versions in the lock file beside
 * this file.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = import.meta.dirname;

/** Throws if npm fails, because the registry cannot be reached say. */
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
