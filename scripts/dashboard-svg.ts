/** Draws the dashboard of a demo gateway for the README: `npm run make:dashboard-svg`. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { widthOf } from '../src/operator/text.ts';
import type { Line, Span, Tone } from '../src/tui/draw/line.ts';
import { frame } from '../src/tui/frame.ts';
import { demoModel } from './demo-model.ts';

const COLUMNS = 100;
const ROWS = 30;
const CELL = { width: 8.4, height: 18 };
const MARGIN = 16;
const FONT_SIZE = 14;
const BACKGROUND = '#16181d';
const FOREGROUND = '#d7dae0';
const COLOURS: Readonly<Record<Tone, string>> = {
  accent: '#56b6c2',
  other: '#c678dd',
  good: '#98c379',
  warn: '#e5c07b',
  bad: '#e06c75',
};
const DIM = '#7f8694';

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Charts are drawn as areas: as text they would have gaps where a font is lower than a line. */
const BLOCKS = /^[ ▁-█]+$/;
const BELOW_FIRST_BLOCK = 0x2580;

function blocksPath(text: string, x: number, y: number): string {
  const bottom = y - FONT_SIZE + CELL.height;
  return [...text]
    .map((block, index) => {
      const height = block === ' ' ? 0 : ((block.charCodeAt(0) - BELOW_FIRST_BLOCK) / 8) * CELL.height;
      return height === 0
        ? ''
        : `M${(x + index * CELL.width).toFixed(1)} ${bottom}v${-height}h${CELL.width}v${height}z`;
    })
    .join('');
}

function spanSvg({ text, tone, bold, dim, inverse }: Span, x: number, y: number): string {
  const width = widthOf(text) * CELL.width;
  const colour = tone === undefined ? (dim ? DIM : FOREGROUND) : COLOURS[tone];
  const back = inverse
    ? `<rect x="${x}" y="${y - FONT_SIZE}" width="${width}" height="${CELL.height}" fill="${colour}"/>`
    : '';
  if (text.trim() === '') return back;
  if (BLOCKS.test(text)) return `<path d="${blocksPath(text, x, y)}" fill="${colour}"/>`;
  const fill = inverse ? BACKGROUND : colour;
  const weight = bold ? ' font-weight="bold"' : '';
  return `${back}<text x="${x}" y="${y}" fill="${fill}"${weight} textLength="${width}" xml:space="preserve">${escaped(text)}</text>`;
}

function lineSvg(line: Line, row: number): string {
  let x = MARGIN;
  const y = MARGIN + FONT_SIZE + row * CELL.height;
  return line
    .map((span) => {
      const drawn = spanSvg(span, Math.round(x * 10) / 10, y);
      x += widthOf(span.text) * CELL.width;
      return drawn;
    })
    .join('');
}

/** The content of docs/dashboard.svg. */
export function dashboardSvg(): string {
  const width = COLUMNS * CELL.width + 2 * MARGIN;
  const height = ROWS * CELL.height + 2 * MARGIN;
  const lines = frame({ ...demoModel(), columns: COLUMNS, rows: ROWS });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"
  font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT_SIZE}">
<title>The dashboard of inf-gw</title>
<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>
${lines.map(lineSvg).join('\n')}
</svg>
`;
}

if (import.meta.main) writeFileSync(fileURLToPath(new URL('../docs/dashboard.svg', import.meta.url)), dashboardSvg());
