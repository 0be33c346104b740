/** The project's own files as texts, for tests that read the code. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

export interface Source {
  /** From the root of the project, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** The text of a file of the project. */
export function projectFile(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The files that a pattern names, in order. Packages that are installed further down are nobody's here. */
export function sourcesIn(pattern: string): Source[] {
  return globSync(pattern, { cwd: ROOT, exclude: ['**/node_modules/**'] })
    .toSorted()
    .map((path) => ({ path, text: projectFile(path) }));
}

/** What a file imports: names of packages, and paths of files from the root of the project. */
export function importsOf({ path, text }: Source): string[] {
  const statements = /^(?:import|export)\b[^;]*?\bfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm;
  const names = [...text.matchAll(statements)].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '');
  return names.map((name) => (name.startsWith('.') ? normalize(join(dirname(path), name)) : name));
}

/** The rows of the Markdown table that begins with these columns, cell by cell. */
export function tableRows(markdown: string, columns: string): string[][] {
  const lines = markdown.split('\n');
  const head = lines.findIndex((line) => line.startsWith(columns));
  if (head < 0) throw new Error(`there is no table that begins with ${columns}`);
  const rest = lines.slice(head + 2);
  const end = rest.findIndex((line) => !line.startsWith('|'));
  return rest.slice(0, end < 0 ? rest.length : end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
