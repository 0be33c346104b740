/** The screen: takes whole frames and draws them in place, whatever else was written there. */
import { EventEmitter } from 'node:events';
import { placed } from './draw/place.ts';
import { MOUSE_OFF, MOUSE_ON } from './mouse.ts';

/** What a terminal without a size is taken for. */
const COLUMNS = 80;
const ROWS = 24;
/** How Ink enters and leaves the alternate screen, also around a suspension. */
const ENTER = '\u001b[?1049h';
const LEAVE = '\u001b[?1049l';
/** With this begin all sequences with which Ink changes a mode of the terminal, and no frame does. */
const MODE = '\u001b[?';

/** A terminal to write to: `process.stdout`. */
export interface Output extends NodeJS.EventEmitter {
  readonly columns: number;
  readonly rows: number;
  readonly writableNeedDrain: boolean;
  write(text: string, done?: () => void): boolean;
}

/**
 * Stands between Ink and the terminal: lets through what sets modes of the terminal, and draws the
 * lines of a frame that have changed itself. Ink would place them relative to the cursor, which any
 * other program that writes to the terminal moves.
 */
export class Screen extends EventEmitter {
  readonly isTTY = true;
  readonly #terminal: Output;
  /** Whether the terminal is asked to report clicks and the wheel as long as it shows the frame. */
  readonly #hasMouse: boolean;
  /** Whether the terminal shows the frame: not before Ink enters the alternate screen, or after. */
  #isOpen = false;
  #frame: readonly string[] = [];
  /** The lines that are on the screen unless another program has written there; undefined if nobody knows. */
  #onScreen: readonly string[] | undefined;

  constructor(terminal: Output, { hasMouse = false } = {}) {
    super();
    this.#terminal = terminal;
    this.#hasMouse = hasMouse;
    terminal.on('drain', () => this.#draw());
  }

  get columns(): number {
    return this.#terminal.columns || COLUMNS;
  }

  get rows(): number {
    return this.#terminal.rows || ROWS;
  }

  /** Draws every line, also those that have not changed. */
  repaint(): void {
    this.forget();
    this.#draw();
  }

  /** Makes the next frame draw every line: the terminal has moved them as its size changed. */
  forget(): void {
    this.#onScreen = undefined;
  }

  /** Takes a frame, which is drawn while the screen is open. */
  show(lines: readonly string[]): void {
    this.#frame = lines;
    this.#draw();
  }

  /** Takes a sequence for the terminal itself. Whatever else Ink writes is dropped. */
  write(text: string, done?: () => void): boolean {
    if (!text.startsWith(MODE)) {
      done?.();
      return true;
    }
    if (text === ENTER) this.forget();
    this.#isOpen = text === ENTER || (this.#isOpen && text !== LEAVE);
    const isFree = this.#terminal.write(this.#hasMouse ? withMouse(text) : text, done);
    if (text === ENTER) this.#draw();
    return isFree;
  }

  /** A terminal that is behind gets the latest frame once it has caught up, and none of those between. */
  #draw(): void {
    if (!this.#isOpen || this.#terminal.writableNeedDrain) return;
    const lines = this.#frame.slice(0, this.rows);
    const bytes = placed(lines, this.#onScreen);
    this.#onScreen = lines;
    if (bytes !== '') this.#terminal.write(bytes);
  }
}

/** Whoever gets the terminal next, a shell or an editor, gets it without the reports. */
function withMouse(mode: string): string {
  if (mode === ENTER) return ENTER + MOUSE_ON;
  return mode === LEAVE ? MOUSE_OFF + LEAVE : mode;
}
