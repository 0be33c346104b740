/** A terminal as far as the dashboard needs one: what is written to it appears on a grid of characters. */
import { EventEmitter } from 'node:events';
import { widthOf } from '../../src/operator/text.ts';

const ESCAPE = String.fromCharCode(27);
/** A control sequence, the choice of a character set, or a character. */
const PIECES = new RegExp(`${ESCAPE}\\[(\\??)([\\d;]*)([A-Za-z])|${ESCAPE}\\([AB0]|.`, 'gsu');

export class VirtualScreen extends EventEmitter {
  readonly isTTY = true;
  columns: number;
  rows: number;
  /** All that has been written. */
  written = '';
  /** The modes that are on, by their numbers. */
  readonly modes = new Set<string>(['7', '25']);
  #cells: string[][] = [];
  #row = 0;
  #column = 0;

  constructor({ columns, rows }: { columns: number; rows: number }) {
    super();
    this.columns = columns;
    this.rows = rows;
  }

  /** Like a terminal, keeps what is in the corner that is left. */
  resize(columns: number, rows: number): void {
    this.columns = columns;
    this.rows = rows;
    this.emit('resize');
  }

  write(text: string, done?: () => void): boolean {
    this.written += text;
    for (const piece of text.matchAll(PIECES)) this.#take(piece);
    if (done !== undefined) queueMicrotask(done);
    return true;
  }

  /** The lines, without trailing spaces. */
  text(): string {
    return Array.from({ length: this.rows }, (_, row) => this.#line(row).join('').trimEnd()).join('\n');
  }

  #line(row: number): string[] {
    const line = this.#cells[row] ?? [];
    return Array.from({ length: this.columns }, (_, column) => line[column] ?? ' ');
  }

  #take([text, question, parameters = '', command]: RegExpMatchArray): void {
    if (command !== undefined && question === '?') {
      if (command === 'h') this.modes.add(parameters);
      else this.modes.delete(parameters);
    } else if (command !== undefined) {
      this.#obey(command, parameters.split(';').map(Number));
    } else if (text === '\n') {
      // As the driver of a terminal sends it.
      this.#column = 0;
      this.#down();
    } else if (text === '\r') {
      this.#column = 0;
    } else if (text !== undefined && text >= ' ' && !text.startsWith(`${ESCAPE}(`)) {
      this.#show(text);
    }
  }

  /** Moves the cursor, or erases. Styles do not appear in the text. */
  #obey(command: string, [first = 0, second = 1]: readonly number[]): void {
    const number = Math.max(1, first);
    if (command === 'H') {
      this.#row = Math.min(number, this.rows) - 1;
      this.#column = Math.min(Math.max(1, second), this.columns) - 1;
    } else if (command === 'A') {
      this.#row = Math.max(0, this.#row - number);
    } else if (command === 'E') {
      this.#row = Math.min(this.rows - 1, this.#row + number);
      this.#column = 0;
    } else if (command === 'G') {
      this.#column = Math.min(number, this.columns) - 1;
    } else if (command === 'K') {
      this.#cells[this.#row] = this.#line(this.#row).fill(' ', first === 2 ? 0 : this.#column);
    } else if (command === 'J') {
      this.#cells[this.#row] = this.#line(this.#row).fill(' ', this.#column);
      this.#cells.length = Math.min(this.#cells.length, this.#row + 1);
    }
  }

  #show(character: string): void {
    const width = widthOf(character);
    if (this.#column + width > this.columns && this.modes.has('7')) {
      this.#column = 0;
      this.#down();
    }
    const line = this.#line(this.#row);
    // Without wrapping the last column takes whatever comes.
    const column = Math.min(this.#column, this.columns - width);
    line.fill('', column, column + width)[column] = character;
    this.#cells[this.#row] = line;
    this.#column = column + width;
  }

  #down(): void {
    if (this.#row < this.rows - 1) this.#row += 1;
    else this.#cells = [...Array.from({ length: this.rows - 1 }, (_, row) => this.#line(row + 1)), []];
  }
}
