/** Repeats a display each second: repainted in place on a terminal, or as one JSON document per line. */
import { setTimeout as pause } from 'node:timers/promises';
import { PROGRAM } from '../core/program.ts';
import { dateTime } from '../operator/format.ts';
import { clean, wrap } from '../operator/text.ts';
import { jsonLine, look, printLines, readable } from './output.ts';

const EVERY_MS = 1_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** `q`, Ctrl-C and Ctrl-D: in raw mode, the terminal sends no signals. */
const ENDING_KEYS = ['q', 'Q', '\u0003', '\u0004'];

const ESCAPE = '\u001b[';
/** The height of a terminal that does not report its size. */
const USUAL_ROWS = 24;
/** The alternate screen without a cursor. Leaving it restores the previous contents. */
const ENTER = `${ESCAPE}?1049h${ESCAPE}?25l`;
const LEAVE = `${ESCAPE}?25h${ESCAPE}?1049l`;
const HOME = `${ESCAPE}H`;
const REST_OF_LINE = `${ESCAPE}K`;
const REST_OF_SCREEN = `${ESCAPE}J`;

/** Prints a document per line each second, until the reader leaves or a signal ends the process. */
export async function repeatJson(read: () => Promise<unknown>): Promise<never> {
  while (true) {
    process.stdout.write(jsonLine(await read()));
    await pause(EVERY_MS);
  }
}

/** Paints `picture` each second and after every key, until `q` or Ctrl-C; then leaves the last one on the screen. */
export async function watchScreen(picture: () => Promise<readonly string[]>): Promise<void> {
  const ended = Promise.withResolvers<'ended'>();
  const keyboard = new Keyboard(() => ended.resolve('ended'));
  let lines: readonly string[] = [];
  process.stdout.write(ENTER);
  try {
    while (true) {
      const next = await Promise.race([picture(), ended.promise]);
      if (next === 'ended') break;
      lines = next;
      paint(lines);
      if ((await Promise.race([keyboard.nextMoment(), ended.promise])) === 'ended') break;
    }
  } finally {
    keyboard.close();
    process.stdout.write(LEAVE);
  }
  printLines(lines);
}

/** Ends the display on certain keys and signals, or repaints it early. */
class Keyboard {
  readonly #end: () => void;
  #wake = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor(end: () => void) {
    this.#end = end;
    for (const signal of SIGNALS) process.on(signal, end);
    process.stdout.on('resize', this.#onNews);
    if (!process.stdin.isTTY) return;
    process.stdin.setRawMode(true).setEncoding('utf8').on('data', this.#onKeys);
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const signal of SIGNALS) process.off(signal, this.#end);
    process.stdout.off('resize', this.#onNews);
    if (process.stdin.isTTY) process.stdin.setRawMode(false).off('data', this.#onKeys).pause();
  }

  /** Resolves after a second, a key press, or a change of the terminal's size. */
  async nextMoment(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#timer = setTimeout(resolve, EVERY_MS);
    });
    clearTimeout(this.#timer);
  }

  readonly #onNews = () => this.#wake();

  readonly #onKeys = (keys: string) => {
    if (ENDING_KEYS.some((key) => keys.includes(key))) this.#end();
    else this.#wake();
  };
}

function paint(lines: readonly string[]): void {
  const rows = process.stdout.rows > 0 ? process.stdout.rows : USUAL_ROWS;
  const { room = Number.POSITIVE_INFINITY, paint: style } = look();
  const [head = ''] = wrap(clean(`${PROGRAM} status  ${dateTime(Date.now())} UTC  q ends`), room);
  const most = Math.max(1, rows - 1);
  const shown = lines.length <= most ? lines : [...lines.slice(0, most - 1), `… ${lines.length - most + 1} more lines`];
  const screen = readable([style(head, 'dim'), ...shown]).map((line) => line + REST_OF_LINE);
  process.stdout.write(HOME + screen.join('\r\n') + REST_OF_SCREEN);
}
