/** Every link between the Markdown pages leads to a file, and to a heading where it names one. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { projectFile, sourcesIn } from '../support/sources.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** The anchors that a page's headings get, as GitHub names them. */
function anchorsOf(markdown: string): Set<string> {
  const headings = [...markdown.matchAll(/^#+ (.+)$/gm)].map((match) => match[1] as string);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

function problemWith(page: string, link: string): string | undefined {
  const [target = '', anchor] = link.split('#');
  const path = target === '' ? page : normalize(join(dirname(page), target));
  if (!existsSync(join(ROOT, path))) return `${page} links to ${link}, which does not exist`;
  if (anchor === undefined || anchorsOf(projectFile(path)).has(anchor)) return undefined;
  return `${page} links to ${link}, but ${path} has no such heading`;
}

test('links between the Markdown pages lead somewhere', () => {
  const pages = [...sourcesIn('*.md'), ...sourcesIn('{docs,bench,test}/**/*.md')];
  assert.ok(pages.length >= 8);
  const problems = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map((match) => match[1] as string)
      .filter((link) => !link.includes('://'))
      .map((link) => problemWith(path, link)),
  );
  assert.deepEqual(
    problems.filter((problem) => problem !== undefined),
    [],
  );
});
