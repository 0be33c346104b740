/** Graphs of dots: two samples a column and four levels a row. Pure. */
import type { Line, Span, Tone } from './line.ts';

/** Two dots side by side, and four above each other, make a character. */
export const SAMPLES_PER_COLUMN = 2;
const LEVELS_PER_ROW = 4;

const FIRST = 0x2800;
/** The bits of a character by sample, from the lowest dot up. */
const DOTS = [
  [0x40, 0x04, 0x02, 0x01],
  [0x80, 0x20, 0x10, 0x08],
] as const;
const CHARACTERS = Array.from({ length: 256 }, (_, bits) => (bits === 0 ? ' ' : String.fromCharCode(FIRST + bits)));

export interface Size {
  /** In columns and rows of the terminal. */
  readonly width: number;
  readonly height: number;
  /** The value that reaches the upper edge. Larger ones are cut off there. */
  readonly top: number;
}

/** A column that is partly something else: of all answers, the failed ones. */
export interface Stacked {
  readonly value: number;
  /** The part at its upper end, at most the whole of it. */
  readonly part: number;
}

/** A line of a chart. Where a value is missing, it has a gap. */
export interface Curve {
  readonly values: readonly (number | undefined)[];
  readonly tone: Tone;
}

/** Columns from the bottom up, one for each sample; what they have a part of shows, however small. */
export function columns(
  samples: readonly Stacked[],
  size: Size,
  tones: { readonly value: Tone; readonly part: Tone },
): Line[] {
  const canvas = new Canvas(size);
  for (const [sample, { value, part }] of samples.entries()) {
    const level = canvas.levelOf(value);
    const parted = part <= 0 ? 0 : Math.max(1, Math.round((part / value) * level));
    canvas.fill(sample, 0, level, tones.value);
    canvas.fill(sample, level - parted, level, tones.part);
  }
  return canvas.lines();
}

/** Curves over each other: where two meet in a character, it has the tone of the later one. */
export function curves(all: readonly Curve[], size: Size): Line[] {
  const canvas = new Canvas(size);
  for (const { values, tone } of all) {
    let before: number | undefined;
    for (const [sample, value] of values.entries()) {
      const level = value === undefined ? undefined : canvas.levelOf(value);
      if (level !== undefined) {
        // Up or down from where the curve was, so that it does not fall apart into dots.
        const from = before === undefined || before === level ? level - 1 : before > level ? level - 1 : before;
        const to = before !== undefined && before > level ? before - 1 : level;
        canvas.fill(sample, from, to, tone);
      }
      before = level;
    }
  }
  return canvas.lines();
}

/** A graph of one row, which reaches its upper edge at the largest value, or at `most`. */
export function spark(values: readonly number[], width: number, most?: number): string {
  const shown = values.slice(-width * SAMPLES_PER_COLUMN);
  const top = most ?? Math.max(...shown, Number.MIN_VALUE);
  const samples = shown.map((value) => ({ value, part: 0 }));
  const [line = []] = columns(samples, { width, height: 1, top }, { value: 'accent', part: 'accent' });
  return line.map(({ text }) => text).join('');
}

class Canvas {
  readonly #size: Size;
  readonly #bits: Uint8Array;
  readonly #tones: (Tone | undefined)[];

  constructor(size: Size) {
    this.#size = size;
    this.#bits = new Uint8Array(size.width * size.height);
    this.#tones = new Array<Tone | undefined>(size.width * size.height);
  }

  /** How many dots high a value is: any value above 0 has one. */
  levelOf(value: number): number {
    const { height, top } = this.#size;
    const most = height * LEVELS_PER_ROW;
    return value <= 0 ? 0 : Math.min(most, Math.max(1, Math.round((value / top) * most)));
  }

  /** Sets the dots of a sample from one level up to another. */
  fill(sample: number, from: number, to: number, tone: Tone): void {
    const { width, height } = this.#size;
    const column = Math.floor(sample / SAMPLES_PER_COLUMN);
    if (column >= width) return;
    const dots = DOTS[sample % SAMPLES_PER_COLUMN === 0 ? 0 : 1];
    for (let level = Math.max(0, from); level < to; level++) {
      const cell = (height - 1 - Math.floor(level / LEVELS_PER_ROW)) * width + column;
      this.#bits[cell] = (this.#bits[cell] ?? 0) | (dots[level % LEVELS_PER_ROW] ?? 0);
      this.#tones[cell] = tone;
    }
  }

  /** As few spans as possible. */
  lines(): Line[] {
    const { width, height } = this.#size;
    return Array.from({ length: height }, (_, row) => {
      const line: Span[] = [];
      let text = '';
      let tone: Tone | undefined;
      for (let cell = row * width; cell < (row + 1) * width; cell++) {
        const bits = this.#bits[cell] ?? 0;
        const own = bits === 0 ? tone : this.#tones[cell];
        if (own !== tone && tone !== undefined) {
          line.push({ text, tone });
          text = '';
        }
        tone = own;
        text += CHARACTERS[bits];
      }
      return [...line, { text, tone }];
    });
  }
}
