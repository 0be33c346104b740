/** The mouse, in the reports of SGR mode: takes them out of what the terminal sends before Ink reads it. */

const ESCAPE = '\u001b';
/** Buttons, with their places in SGR form. No mode reports moves, which the terminal's own selection needs. */
export const MOUSE_ON = `${ESCAPE}[?1000h${ESCAPE}[?1006h`;
export const MOUSE_OFF = `${ESCAPE}[?1006l${ESCAPE}[?1000l`;

export interface MouseReport {
  readonly action: 'click' | 'wheel_up' | 'wheel_down';
  /** From 0. */
  readonly column: number;
  readonly row: number;
}

const REPORT = new RegExp(`${ESCAPE}\\[<(\\d{1,5});(\\d{1,5});(\\d{1,5})([Mm])`, 'g');
/** The begin of a report, the rest of which comes with the next read. */
const BEGUN = new RegExp(`${ESCAPE}\\[<[\\d;]{0,17}$`);

/** By the number of the button, without modifier keys: Shift and a click is the terminal's own selection. */
const ACTIONS: Readonly<Record<string, MouseReport['action']>> = { 0: 'click', 64: 'wheel_up', 65: 'wheel_down' };

/** The same input, read without the reports. Each is told in its place between the keys. */
export function withoutMouse(input: NodeJS.ReadStream, tell: (report: MouseReport) => void): NodeJS.ReadStream {
  const pieces: (string | MouseReport)[] = [];
  let held = '';
  const read = (): string | null => {
    for (;;) {
      const piece = pieces.shift();
      if (typeof piece === 'string') return piece;
      if (piece !== undefined) {
        tell(piece);
        continue;
      }
      const chunk: string | Buffer | null = input.read();
      if (chunk === null) return null;
      const text = held + chunk.toString();
      held = BEGUN.exec(text)?.[0] ?? '';
      pieces.push(...piecesOf(text.slice(0, text.length - held.length)));
    }
  };
  return new Proxy(input, {
    get(target, name) {
      if (name === 'read') return read;
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** In order: what is typed, and reports. */
function piecesOf(text: string): (string | MouseReport)[] {
  const pieces: (string | MouseReport)[] = [];
  let from = 0;
  for (const match of text.matchAll(REPORT)) {
    const [whole, button = '', column, row, end] = match;
    if (match.index > from) pieces.push(text.slice(from, match.index));
    from = match.index + whole.length;
    const action = ACTIONS[button];
    const isPress = end === 'M';
    if (action !== undefined && isPress) pieces.push({ action, column: Number(column) - 1, row: Number(row) - 1 });
  }
  return from < text.length ? [...pieces, text.slice(from)] : pieces;
}
