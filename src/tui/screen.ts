/** The screen: takes whole frames and draws them in place, whatever else was written there. */
import { placed } from './draw/place.ts';
import { MOUSE_OFF, MOUSE_ON } from './mouse.ts';

/** The size that is assumed of a terminal that does not tell its own. */
const COLUMNS = 80;
const ROWS = 24;
/** The alternate screen, without the cursor, and the way back to the shell. */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?1049l\u001b[?25h';

/** A terminal to write to: `process.stdout`. */
export interface Output extends NodeJS.EventEmitter {
  readonly columns: number;
  readonly rows: number;
  readonly writableNeedDrain: boolean;
  write(text: string, done?: () => void): boolean;
}

/** Draws on the alternate screen while it is open. */
export class Screen {
  readonly #terminal: Output;
  /** Whether the terminal is asked to report clicks and the wheel as long as it shows the frame. */
  readonly #hasMouse: boolean;
  #isOpen = false;
  #frame: readonly string[] = [];
  /** The lines that are on the screen unless another program has written there; undefined if nobody knows. */
  #onScreen: readonly string[] | undefined;

  constructor(terminal: Output, { hasMouse = false } = {}) {
    this.#terminal = terminal;
    this.#hasMouse = hasMouse;
    terminal.on('drain', () => this.#draw());
  }

  /** Takes the terminal. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.forget();
    this.#terminal.write(this.#hasMouse ? ENTER + MOUSE_ON : ENTER);
    this.#draw();
  }

  /** Whoever gets the terminal next, a shell or an editor, gets it as it was. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#terminal.write(this.#hasMouse ? MOUSE_OFF + LEAVE : LEAVE);
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

  /** A terminal that is behind gets the latest frame once it has caught up, and none of those between. */
  #draw(): void {
    if (!this.#isOpen || this.#terminal.writableNeedDrain) return;
    const lines = this.#frame.slice(0, this.rows);
    const bytes = placed(lines, this.#onScreen);
    this.#onScreen = lines;
    if (bytes !== '') this.#terminal.write(bytes);
  }
}
