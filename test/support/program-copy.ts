/** A copy of the built program, as in a checkout. */
import { chmodSync, cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The built program in its own directory. Its example config listens on a port that the system
 * chooses.
 */
export function copyOfProgram(directory: string): { script: string; example: string } {
  copyParts(directory, ['bin', 'dist', 'package.json']);
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  const example = readFileSync(join(ROOT, 'config.example.yaml'), 'utf8').replace('127.0.0.1:8787', '127.0.0.1:0');
  writeFileSync(join(directory, 'config.example.yaml'), example);
  return { script: join(directory, 'bin/start.js'), example };
}

/** The command of a copy that every user can run, wherever the checkout is, and however closed its folders are. */
export function copyForOthers(directory: string): string {
  chmodSync(directory, 0o755);
  const sqlite = ['lib', 'prebuilds', 'package.json'].map((part) => `node_modules/better-sqlite3/${part}`);
  copyParts(directory, ['bin', 'dist', 'package.json', ...sqlite]);
  return join(directory, 'bin/inf-gw.js');
}

function copyParts(directory: string, parts: readonly string[]): void {
  for (const part of parts) cpSync(join(ROOT, part), join(directory, part), { recursive: true });
}
