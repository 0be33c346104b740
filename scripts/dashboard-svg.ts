/** Draws the dashboard of a demo gateway for the README, which takes seven minutes: `npm run make:dashboard-svg`. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { widthOf } from '../src/operator/text.ts';
import type { Line, Span, Tone } from '../src/tui/draw/line.ts';
import { frame } from '../src/tui/frame.ts';
import { firstModel, type Model } from '../src/tui/model.ts';
import { update } from '../src/tui/update/update.ts';
import { runDemo } from './demo-gateway.ts';

const COLUMNS = 120;
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

/** A part of a cell, in shares of its width and height from its upper left corner. */
type Area = readonly [x: number, y: number, width: number, height: number];

/** Charts and bars are drawn as areas: as text they would have gaps where a font is lower than a line. */
const DRAWN = /[▁-▓⠀-⣿]+/g;
const SHADES: Readonly<Record<string, number>> = { '░': 0.25, '▓': 0.6 };
const [LOWER_BLOCKS, FULL_BLOCK, LEFT_BLOCKS, DOTS] = [0x2580, 0x2588, 0x2590, 0x2800];
/** The dots of a cell in the order of the bits of its character. */
const DOT_PLACES = [0, 1, 2, 4, 5, 6, 3, 7] as const;

function areasOf(character: string): Area[] {
  const code = character.charCodeAt(0);
  if (code >= DOTS) {
    return DOT_PLACES.flatMap((place, bit): Area[] =>
      (code - DOTS) & (1 << bit) ? [[place < 4 ? 0 : 0.5, (place % 4) / 4, 0.5, 0.25]] : [],
    );
  }
  if (character in SHADES) return [[0, 0.1, 1, 0.8]];
  if (code < FULL_BLOCK) return [[0, 1 - (code - LOWER_BLOCKS) / 8, 1, (code - LOWER_BLOCKS) / 8]];
  return [[0, 0.1, (LEFT_BLOCKS - code) / 8, 0.8]];
}

function drawn(text: string, x: number, y: number, colour: string): string {
  const top = y - FONT_SIZE;
  const path = [...text]
    .flatMap((character, index) =>
      areasOf(character).map(([left, upper, width, height]) => {
        const [w, h] = [width * CELL.width, height * CELL.height];
        const from = `${(x + (index + left) * CELL.width).toFixed(1)} ${(top + upper * CELL.height).toFixed(1)}`;
        return `M${from}h${w.toFixed(1)}v${h.toFixed(1)}h${(-w).toFixed(1)}z`;
      }),
    )
    .join('');
  const opacity = SHADES[text.charAt(0)];
  return `<path d="${path}" fill="${colour}"${opacity === undefined ? '' : ` opacity="${opacity}"`}/>`;
}

function spanSvg({ text, tone, bold, dim, inverse }: Span, x: number, y: number): string {
  const width = widthOf(text) * CELL.width;
  const colour = tone === undefined ? (dim ? DIM : FOREGROUND) : COLOURS[tone];
  const back = inverse
    ? `<rect x="${x}" y="${y - FONT_SIZE}" width="${width}" height="${CELL.height}" fill="${colour}"/>`
    : '';
  const fill = inverse ? BACKGROUND : colour;
  const weight = bold ? ' font-weight="bold"' : '';
  const pieces = text.split(/(?<=[▁-▓⠀-⣿])(?![▁-▓⠀-⣿])|(?<![▁-▓⠀-⣿])(?=[▁-▓⠀-⣿])/u);
  let at = x;
  const parts = pieces.map((piece) => {
    const from = Math.round(at * 10) / 10;
    at += widthOf(piece) * CELL.width;
    if (piece.match(DRAWN) !== null) return drawn(piece, from, y, fill);
    if (piece.trim() === '') return '';
    const room = Math.round((at - from) * 10) / 10;
    return `<text x="${from}" y="${y}" fill="${fill}"${weight} textLength="${room}" xml:space="preserve">${escaped(piece)}</text>`;
  });
  return back + parts.join('');
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

function dashboardSvg(model: Model): string {
  const width = COLUMNS * CELL.width + 2 * MARGIN;
  const height = ROWS * CELL.height + 2 * MARGIN;
  const lines = frame(model);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"
  font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT_SIZE}">
<title>The dashboard of inf-gw</title>
<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>
${lines.map(lineSvg).join('\n')}
</svg>
`;
}

const { snapshot, stored } = await runDemo();
const { model } = update(firstModel(stored, { columns: COLUMNS, rows: ROWS }, snapshot.now_ms), {
  kind: 'snapshot',
  snapshot,
});
writeFileSync(fileURLToPath(new URL('../docs/dashboard.svg', import.meta.url)), dashboardSvg(model));
