/** The project's own files as text, for tests that read the code. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

export interface Source {
  /** Relative to the root of the project, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** The text of a file of the project. */
export function projectFile(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The files that match a pattern, in order, without installed packages. */
export function sourcesIn(pattern: string): Source[] {
  return globSync(pattern, { cwd: ROOT, exclude: ['**/node_modules/**'] })
    .toSorted()
    .map((path) => ({ path, text: projectFile(path) }));
}

/** The imports of a file: names of packages, and paths relative to the root of the project. */
export function importsOf({ path, text }: Source): string[] {
  const statements = /^(?:import|export)\b[^;]*?\bfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm;
  const names = [...text.matchAll(statements)].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '');
  return names.map((name) => (name.startsWith('.') ? normalize(join(dirname(path), name)) : name));
}

/** The cells of the Markdown table whose first columns are these, row by row. */
export function tableRows(markdown: string, columns: string): string[][] {
  const lines = markdown.split('\n');
  const head = lines.findIndex((line) => line.startsWith(columns));
  if (head < 0) throw new Error(`no table has the columns ${columns}`);
  const rest = lines.slice(head + 2);
  const end = rest.findIndex((line) => !line.startsWith('|'));
  return rest.slice(0, end < 0 ? rest.length : end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
