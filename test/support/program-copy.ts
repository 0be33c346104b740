/** A copy of the built program, as in a checkout. */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The built program in its own directory. Its example config listens on a port that the system
 * chooses.
 */
export function copyOfProgram(directory: string): { script: string; example: string } {
  for (const part of ['bin', 'dist', 'package.json'])
    cpSync(join(ROOT, part), join(directory, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  const example = readFileSync(join(ROOT, 'config.example.yaml'), 'utf8').replace('127.0.0.1:8787', '127.0.0.1:0');
  writeFileSync(join(directory, 'config.example.yaml'), example);
  return { script: join(directory, 'bin/start.js'), example };
}
