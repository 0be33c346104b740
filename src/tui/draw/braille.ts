/** Graphs of braille dots: two samples per column and four levels per row. Pure. */
import type { Line, Span, Tone } from './line.ts';

/** A braille character is two dots wide and four dots high. */
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
  /** In columns of the terminal. */
  readonly width: number;
  readonly height: number;
  /** The value at the upper edge; larger ones are cut off. */
  readonly top: number;
}

/** A column with a marked part, such as failed answers among all answers. */
export interface Stacked {
  readonly value: number;
  /** The marked part at the upper end, at most the whole value. */
  readonly part: number;
}

/** A line of a chart, with gaps for missing values. */
export interface Curve {
  readonly values: readonly (number | undefined)[];
  readonly tone: Tone;
}

/** Draws one column per sample. A marked part is visible even if it is small. */
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

/** Draws curves over each other. A character with several curves has the tone of the last one. */
export function curves(all: readonly Curve[], size: Size): Line[] {
  const canvas = new Canvas(size);
  for (const { values, tone } of all) {
    let before: number | undefined;
    for (const [sample, value] of values.entries()) {
      const level = value === undefined ? undefined : canvas.levelOf(value);
      if (level !== undefined) {
        // Connects the sample to the previous level, so that the curve does not break up into dots.
        const from = before === undefined || before === level ? level - 1 : before > level ? level - 1 : before;
        const to = before !== undefined && before > level ? before - 1 : level;
        canvas.fill(sample, from, to, tone);
      }
      before = level;
    }
  }
  return canvas.lines();
}

/** A graph of one row, scaled to its largest value, or to `most`. */
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

  /** Returns the height of a value in dots; values above 0 get at least one. */
  levelOf(value: number): number {
    const { height, top } = this.#size;
    const most = height * LEVELS_PER_ROW;
    return value <= 0 ? 0 : Math.min(most, Math.max(1, Math.round((value / top) * most)));
  }

  /** Sets the dots of a sample between two levels. */
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

  /** Returns the lines with as few spans as possible. */
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
