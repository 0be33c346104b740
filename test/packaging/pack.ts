/** Packs the npm package, from a copy of the project: packing builds, and other tests use the build that is there. */
import { execFileSync } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PARTS = [
  'package.json',
  'package-lock.json',
  '.npmrc',
  'bin',
  'scripts',
  'src',
  'config.example.yaml',
  'README.md',
  'LICENSE',
];

/** What of the project is in a package, or makes one. */
export function copyCheckout(folder: string): void {
  for (const part of PARTS) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
}

/** Returns the path of the tarball. */
export function pack(folder: string): string {
  copyCheckout(folder);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const output = execFileSync('npm', ['pack', '--json', '--offline'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const name = /"filename":\s*"([^"]+)"/.exec(output.toString())?.[1] ?? '';
  return join(folder, name);
}
