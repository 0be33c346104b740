/** A screen as an SVG image, from text with escape codes as Ink writes it. Pure. */
import { widthOf } from '../../operator/text.ts';

const CELL = { width: 8.4, height: 18 };
const MARGIN = 16;
const FONT_SIZE = 14;
const BACKGROUND = '#16181d';
const FOREGROUND = '#d7dae0';

interface Style {
  readonly colour: string | undefined;
  readonly background: string | undefined;
  readonly isBold: boolean;
  readonly isInverse: boolean;
}

const PLAIN: Style = { colour: undefined, background: undefined, isBold: false, isInverse: false };
const ESCAPE = '\u001b';
const PIECES = new RegExp(`${ESCAPE}\\[([\\d;]*)m|[^${ESCAPE}]+`, 'g');
/** The levels of a colour in the 6×6×6 cube of the 256 colours. */
const LEVELS = [0, 95, 135, 175, 215, 255] as const;
const [FIRST_OF_CUBE, FIRST_GREY] = [16, 232];

/** Returns an entry of the 256 colours, from 16 on, as red, green and blue. */
export function rgbOf(index: number): readonly [red: number, green: number, blue: number] {
  if (index >= FIRST_GREY) {
    const grey = 8 + (index - FIRST_GREY) * 10;
    return [grey, grey, grey];
  }
  const place = index - FIRST_OF_CUBE;
  const level = (at: number) => LEVELS[at % 6] as number;
  return [level(Math.floor(place / 36)), level(Math.floor(place / 6)), level(place)];
}

function hexOf(index: number): string {
  return `#${rgbOf(index)
    .map((level) => level.toString(16).padStart(2, '0'))
    .join('')}`;
}

/** Applies the codes of an escape sequence to a style. The dashboard uses the 256 colours, bold and inverse. */
function styled(style: Style, codes: readonly number[]): Style {
  const [first = 0, , index = 0] = codes;
  switch (first) {
    case 1:
      return { ...style, isBold: true };
    case 22:
      return { ...style, isBold: false };
    case 7:
      return { ...style, isInverse: true };
    case 27:
      return { ...style, isInverse: false };
    case 38:
      return { ...style, colour: hexOf(index) };
    case 39:
      return { ...style, colour: undefined };
    case 48:
      return { ...style, background: hexOf(index) };
    case 49:
      return { ...style, background: undefined };
    default:
      return first === 0 ? PLAIN : style;
  }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A part of a cell, as shares of its width and height from its upper left corner. */
type Area = readonly [x: number, y: number, width: number, height: number];

/** Charts and bars are drawn as areas: as text they would have gaps in fonts lower than a line. */
const DRAWN = /[▁-▓⠀-⣿]+/g;
const SHADES: Readonly<Record<string, number>> = { '░': 0.25, '▓': 0.6 };
const [LOWER_BLOCKS, FULL_BLOCK, LEFT_BLOCKS, DOTS] = [0x2580, 0x2588, 0x2590, 0x2800];
/** The dots of a cell in the order of its character's bits. */
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

function spanSvg(text: string, style: Style, x: number, y: number): string {
  const width = Math.round(widthOf(text) * CELL.width * 10) / 10;
  const [front, behind] = [style.colour ?? FOREGROUND, style.background];
  const fill = style.isInverse ? (behind ?? BACKGROUND) : front;
  const back = style.isInverse ? front : behind;
  const rectangle =
    back === undefined
      ? ''
      : `<rect x="${x}" y="${y - FONT_SIZE}" width="${width}" height="${CELL.height}" fill="${back}"/>`;
  const weight = style.isBold ? ' font-weight="bold"' : '';
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
  return rectangle + parts.join('');
}

function lineSvg(line: string, row: number): string {
  let x = MARGIN;
  let style = PLAIN;
  const y = MARGIN + FONT_SIZE + row * CELL.height;
  return [...line.matchAll(PIECES)]
    .map(([text, codes]) => {
      if (codes !== undefined) {
        style = styled(style, codes.split(';').map(Number));
        return '';
      }
      const piece = spanSvg(text, style, Math.round(x * 10) / 10, y);
      x += widthOf(text) * CELL.width;
      return piece;
    })
    .join('');
}

/** Returns the image of a screen with this many columns, on a dark background. */
export function screenSvg(screen: string, columns: number): string {
  const lines = screen.split('\n');
  const width = columns * CELL.width + 2 * MARGIN;
  const height = lines.length * CELL.height + 2 * MARGIN;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"
  font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT_SIZE}">
<title>The dashboard of inf-gw</title>
<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>
${lines.map(lineSvg).join('\n')}
</svg>
`;
}
