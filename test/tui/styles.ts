/** The styles of a screen, for tests. */
import chalk from 'chalk';
import type { Model } from '../../src/tui/model.ts';
import { pictureOf } from '../../src/tui/picture.ts';

const ESCAPE = '\u001b';

/** The screen with escape codes, as on a terminal of 256 colours with a dark background. */
export function styledText(model: Model): string {
  const { level } = chalk;
  chalk.level = 2;
  try {
    return pictureOf(model);
  } finally {
    chalk.level = level;
  }
}

/** The text between the first of these codes and their end: what is selected, for example. */
export function textIn(screen: string, code: string, end: string): string[] {
  const style = new RegExp(`${ESCAPE}\\[${code}m(.*?)${ESCAPE}\\[${end}m`, 'g');
  const codes = new RegExp(`${ESCAPE}\\[[\\d;]*m`, 'g');
  return [...screen.matchAll(style)].map(([, text = '']) => text.replace(codes, ''));
}
