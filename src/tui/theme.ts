/** The colours of the dashboard, for a dark and a light background. */
import type { Tone } from './draw/line.ts';

/** Colours in Ink's names. Each has a contrast of at least 4.5:1 on the background, and on the band. */
export interface Theme {
  readonly tones: Readonly<Record<Tone, string>>;
  /** Less important text. SGR 2 halves the contrast in some terminals. */
  readonly dim: string;
  /** The background of the row under the cursor, and its plain text. */
  readonly band: string;
  readonly bandText: string;
}

export type Background = 'dark' | 'light';

/** From the 256 colours, which terminal themes keep: some themes set the first 16 to a contrast as low as 1.2:1. */
export const THEMES: Readonly<Record<Background, Theme>> = {
  dark: {
    tones: {
      accent: 'ansi256(117)',
      other: 'ansi256(219)',
      good: 'ansi256(114)',
      warn: 'ansi256(221)',
      bad: 'ansi256(217)',
    },
    dim: 'ansi256(250)',
    band: 'ansi256(237)',
    bandText: 'ansi256(255)',
  },
  light: {
    tones: {
      accent: 'ansi256(24)',
      other: 'ansi256(90)',
      good: 'ansi256(22)',
      warn: 'ansi256(58)',
      bad: 'ansi256(124)',
    },
    dim: 'ansi256(240)',
    band: 'ansi256(253)',
    bandText: 'ansi256(232)',
  },
};

/** Consoles and hardware terminals lack the 256 colours; other current terminals have them. */
const FEW_COLOURS = /^(linux|ansi|cons|vt|sun)/;

/** The capabilities of a terminal that affect drawing. */
export interface Look {
  /** Undefined without colours: then the row under the cursor is inverse. */
  readonly theme: Theme | undefined;
  readonly isAscii: boolean;
  /** Whether everything is dimmed, behind a dialog. */
  readonly isFaded: boolean;
}

export function lookOf(
  { NO_COLOR: noColour = '', TERM: term = '', ...env }: NodeJS.ProcessEnv,
  background: Background,
): Look {
  // See https://no-color.org.
  const hasColours = noColour === '' && !FEW_COLOURS.test(term);
  return { theme: hasColours ? THEMES[background] : undefined, isAscii: !showsUtf8(env), isFaded: false };
}

/** Whether the locale uses UTF-8. As in POSIX, the first non-empty variable counts. */
export function showsUtf8({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  return /utf-?8/i.test([LC_ALL, LC_CTYPE, LANG].find((value) => value !== undefined && value !== '') ?? '');
}
