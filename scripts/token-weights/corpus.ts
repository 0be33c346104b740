/** What words and signs are common: texts of the installed packages, cut and counted, and the ranks of the vocabulary. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { piecesOf, type Vocabulary } from './vocabulary.ts';

const PACKAGES = fileURLToPath(new URL('../../node_modules/', import.meta.url));

/** English, code and JSON of packages that package-lock.json pins. Per file so many characters are read. */
const FILES = [
  'ai/docs/**/*.mdx',
  'ai/**/*.md',
  'undici/docs/**/*.md',
  'zod/*.md',
  'es-toolkit/*.md',
  'fast-check/*.md',
  'pino/docs/*.md',
  'ink/*.md',
  'yaml/*.md',
  '@types/node/*.d.ts',
  'csstype/*.d.ts',
  'type-fest/source/*.d.ts',
  'undici/lib/**/*.js',
  'zod/v4/locales/*.js',
  'pino/lib/*.js',
  'react-reconciler/cjs/*development.js',
  'better-sqlite3/deps/sqlite3/sqlite3.c',
  'better-sqlite3/src/**/*.{cpp,hpp,lzz}',
  'openai/src/resources/*.ts',
  '*/package.json',
  '*/LICENSE*',
];
const CHARACTERS_PER_FILE = 60_000;

/** How often each piece occurs in the corpus. */
export function countPieces(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const pattern of FILES) {
    for (const file of globSync(pattern, { cwd: PACKAGES }).toSorted()) {
      const text = readFileSync(PACKAGES + file, 'utf8').slice(0, CHARACTERS_PER_FILE);
      for (const piece of piecesOf(text)) counts.set(piece, (counts.get(piece) ?? 0) + 1);
    }
  }
  return counts;
}

/**
 * The share of each piece that is expected in a text: half of it from the corpus, half from Zipf's law over the ranks, for
 * words of everyday English that no package writes about. A token of letters without a space before it is mostly a part of words,
 * so that its rank says nothing.
 */
export function sharesOf(vocabulary: Vocabulary, counts: ReadonlyMap<string, number>): Map<string, number> {
  const shares = new Map<string, number>();
  let total = 0;
  for (const count of counts.values()) total += count;
  for (const [piece, count] of counts) shares.set(piece, (0.5 * count) / total);
  const flat = 1_000;
  const norm = 0.5 / Math.log(1 + vocabulary.tokens.length / flat);
  vocabulary.tokens.forEach((bytes, rank) => {
    if (/^[\0-\x7f]+$/.test(bytes) && !/^[A-Za-z]/.test(bytes))
      shares.set(bytes, (shares.get(bytes) ?? 0) + norm / (rank + flat));
  });
  return shares;
}
