/** The screen itself: draws the lines of the frame on a terminal, and hands over the keys that are pressed. */
import type { ReadStream, WriteStream } from 'node:tty';
import { changes, ENTER_SCREEN, LEAVE_SCREEN, painted } from './draw/paint.ts';
import { frame } from './frame.ts';
import { type Input, patienceFor, readInput } from './keyboard.ts';
import type { Session } from './session.ts';

const HAS_COLOURS = (process.env.NO_COLOR ?? '') === '';

/** Draws until the session ends. */
export async function draw(session: Session): Promise<void> {
  const screen = new Screen(session, process.stdin, process.stdout);
  // Whatever happens, the terminal is left as it was found.
  const onFault = (error: unknown) => {
    screen.close();
    process.stderr.write(`error: fault of the program: ${error instanceof Error ? error.stack : error}\n`);
    process.exit(1);
  };
  const end = () => session.end();
  process.once('uncaughtException', onFault).once('SIGTERM', end).once('SIGHUP', end);
  try {
    screen.open();
    await session.ended;
  } finally {
    screen.close();
  }
}

class Screen {
  readonly #session: Session;
  readonly #input: ReadStream;
  readonly #output: WriteStream;
  /** The lines that the terminal shows. */
  #shown: readonly string[] | undefined;
  #isDue = false;
  #isFull = false;
  #rest = '';
  #keyTimer: NodeJS.Timeout | undefined;
  #forget = () => {};

  constructor(session: Session, input: ReadStream, output: WriteStream) {
    this.#session = session;
    this.#input = input;
    this.#output = output;
  }

  open(): void {
    this.#input.setRawMode(true);
    this.#input.setEncoding('utf8').on('data', this.#onData).once('end', this.#onGone).once('error', this.#onGone);
    this.#output.on('resize', this.#onResize).on('drain', this.#onDrain);
    this.#output.write(ENTER_SCREEN);
    this.#forget = this.#session.subscribe(() => this.#drawSoon());
    this.#onResize();
  }

  close(): void {
    this.#forget();
    clearTimeout(this.#keyTimer);
    this.#input.off('data', this.#onData).off('end', this.#onGone).pause();
    this.#output.off('resize', this.#onResize).off('drain', this.#onDrain);
    this.#input.setRawMode(false);
    this.#output.write(LEAVE_SCREEN);
  }

  /** Once for all that happens in the same moment. */
  #drawSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => this.#draw());
  }

  #draw(): void {
    // A terminal at the end of a slow line gets the screen as it is when there is room for it.
    if (this.#isFull) return;
    this.#isDue = false;
    const lines = frame(this.#session.model).map((line) => painted(line, HAS_COLOURS));
    const text = changes(this.#shown, lines);
    this.#shown = lines;
    if (text !== '') this.#isFull = !this.#output.write(text);
  }

  readonly #onDrain = () => {
    this.#isFull = false;
    if (this.#isDue) this.#draw();
  };

  readonly #onResize = () => {
    const { columns, rows } = this.#output;
    this.#shown = undefined;
    this.#session.dispatch({ kind: 'resize', columns, rows });
  };

  readonly #onGone = () => this.#session.end();

  readonly #onData = (text: string) => {
    clearTimeout(this.#keyTimer);
    const { inputs, rest } = readInput(this.#rest + text);
    this.#rest = rest;
    this.#take(inputs);
    if (rest !== '') this.#keyTimer = setTimeout(() => this.#takeRest(), patienceFor(rest));
  };

  #takeRest(): void {
    const { inputs } = readInput(this.#rest, true);
    this.#rest = '';
    this.#take(inputs);
  }

  #take(inputs: readonly Input[]): void {
    for (const input of inputs) this.#session.dispatch(input);
  }
}
