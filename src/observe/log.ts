/** The log: JSON lines on stderr, or readable lines if stderr is a terminal. Only this file imports pino. */
import { type DestinationStream, destination, type Logger, pino } from 'pino';
import { replaceUnprintable } from '../core/printable.ts';

export type Log = Logger;

const STDERR = 2;
/** The time for writing the last lines, in milliseconds. */
const CLOSING_MS = 2_000;
/** The size of the buffer for a slow reader of stderr, in bytes. Beyond this, lines are dropped. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;

/** The log of the process. */
export interface OpenLog {
  readonly log: Log;
  /** Writes lines that another thread formatted. */
  write(lines: string): void;
  /** Writes the buffered lines, unless the reader has stopped reading. */
  close(): Promise<void>;
}

/** Opens the log. Lines are written as soon as stderr accepts them. */
export async function openLog(level: string, format: 'json' | 'pretty'): Promise<OpenLog> {
  if (format === 'pretty') {
    const pretty = await prettyStream();
    return { log: pino(optionsFor(level), pretty), write: (lines) => pretty.write(lines), close: async () => {} };
  }
  const stream = destination({ dest: STDERR, sync: false, maxLength: MAX_BUFFERED_BYTES });
  // A log that cannot be written, for example because the disk is full, must not stop a gateway that can serve.
  stream.on('error', () => {});
  const log = pino(optionsFor(level), stream);
  let isClosed = false;
  const write = (lines: string) => {
    if (!isClosed) stream.write(lines);
  };
  const close = () => {
    // Drops later lines: the stream would throw during the shutdown.
    isClosed = true;
    log.level = 'silent';
    return endWithin(stream);
  };
  return { log, write, close };
}

/** The number of kept errors without a log reader. */
const MOST_KEPT = 20;

/** A log for a process whose terminal belongs to another program. It keeps the messages of the first errors. */
export function keptErrors(): OpenLog & { readonly errors: readonly string[] } {
  const errors: string[] = [];
  const write = (line: string) => {
    if (errors.length < MOST_KEPT) errors.push((JSON.parse(line) as { msg: string }).msg);
  };
  return { log: pino(optionsFor('error'), { write }), write: () => {}, close: async () => {}, errors };
}

/**
 * A log for the thread of a worker. Two threads that write to one pipe would mix their lines, so `send` passes lines to the
 * main thread, once per turn of the event loop. `flush` sends the rest at once.
 */
export function forwardedLog(level: string, send: (lines: string) => void): { log: Log; flush(): void } {
  let lines = '';
  const flush = () => {
    if (lines !== '') send(lines);
    lines = '';
  };
  const write = (line: string) => {
    if (lines === '') setImmediate(flush);
    lines += line;
  };
  return { log: pino(optionsFor(level), { write }), flush };
}

const optionsFor = (level: string) => ({
  level,
  base: null,
  timestamp: () => `,"time":"${new Date().toISOString()}"`,
  formatters: { level: (label: string) => ({ level: label }) },
});

async function prettyStream(): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty');
  return pretty({
    destination: STDERR,
    sync: true,
    translateTime: 'SYS:HH:MM:ss',
    colorize: process.env.NO_COLOR === undefined,
    // Messages are complete without the fields, which are for programs.
    hideObject: true,
    messageFormat: (line, messageKey, _, { colors }) => colors.cyan(replaceUnprintable(String(line[messageKey] ?? ''))),
  });
}

/** Waits for a slow reader, but not for a reader that stopped. */
function endWithin(stream: ReturnType<typeof destination>): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, CLOSING_MS).unref();
    stream.once('close', resolve);
    stream.end();
  });
}
