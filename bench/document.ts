/**
 * Writes the figures of a benchmark into docs/benchmarks.md and keeps the rest of the page.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wrapProse } from '../scripts/wrap.ts';
import { CHECKOUT } from './contestants.ts';

export const DOCUMENT = 'docs/benchmarks.md';

/** The parts that commands write, in order. What is outside of them is kept. */
const COMMANDS = { gateway: 'npm run bench', peers: 'npm run bench:peers' };

export type Part = keyof typeof COMMANDS;

const begin = (part: Part) => `<!-- ${part}: from here to its end written by ${COMMANDS[part]} -->`;
const end = (part: Part) => `<!-- end of ${part} -->`;

const EMPTY = `# Benchmarks

The gateway's speed, compared with bare proxies and other gateways.

## Bare proxies

${begin('gateway')}
\`${COMMANDS.gateway}\` writes this part.
${end('gateway')}

${begin('peers')}
\`${COMMANDS.peers}\` writes this part.
${end('peers')}
`;

export function writePart(part: Part, content: string): void {
  const path = join(CHECKOUT, DOCUMENT);
  const text = existsSync(path) ? readFileSync(path, 'utf8') : EMPTY;
  writeFileSync(path, withPart(text, part, content));
}

/**
 * The text with new content between the marks of this part, its prose wrapped. Throws if the marks
 * are missing.
 */
export function withPart(text: string, part: Part, content: string): string {
  const from = text.indexOf(begin(part));
  const to = text.indexOf(end(part), from);
  if (from < 0 || to < 0)
    throw new Error(`${DOCUMENT} has no marks for this part; put them back: ${begin(part)} … ${end(part)}`);
  return `${text.slice(0, from)}${begin(part)}\n${wrapProse(content.trim())}\n${text.slice(to)}`;
}

/** The cell in a row and a column of a part's table in the document; undefined if there is none. */
export function documented(part: Part, row: string, column: string): string | undefined {
  const path = join(CHECKOUT, DOCUMENT);
  const text = existsSync(path) ? readFileSync(path, 'utf8') : EMPTY;
  return cellAt(text.slice(text.indexOf(begin(part)), text.indexOf(end(part))), row, column);
}

/** A cell of the first table with such a column. */
export function cellAt(text: string, row: string, column: string): string | undefined {
  const table = text.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  const index = table.find((cells) => cells.includes(column))?.indexOf(column);
  return index === undefined ? undefined : table.find((cells) => cells[1] === row)?.[index];
}
