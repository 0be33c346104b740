/** The log: JSON lines on stderr, pretty where that is a terminal. The only place that knows pino. */
import { type DestinationStream, destination, type Logger, pino } from 'pino';

export type Log = Logger;

const STDERR = 2;
/** How long the last lines may take, in milliseconds. */
const CLOSING_MS = 2_000;
/** What may wait for a slow reader of the log before lines are dropped, in bytes. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;

/** The log of the process. */
export interface OpenLog {
  readonly log: Log;
  /** Writes lines that another thread has made. */
  write(lines: string): void;
  /** Writes what is left, as far as its reader takes it. */
  close(): Promise<void>;
}

/** Opens the log. Lines are written as soon as stderr takes them. */
export async function openLog(level: string, isTerminal: boolean): Promise<OpenLog> {
  if (isTerminal) {
    const pretty = await prettyStream();
    return { log: pino(optionsFor(level), pretty), write: (lines) => pretty.write(lines), close: async () => {} };
  }
  const stream = destination({ dest: STDERR, sync: false, maxLength: MAX_BUFFERED_BYTES });
  // A log that cannot be written, on a full disk say, must not stop a gateway that can still serve.
  stream.on('error', () => {});
  const log = pino(optionsFor(level), stream);
  let isClosed = false;
  const write = (lines: string) => {
    if (!isClosed) stream.write(lines);
  };
  const close = () => {
    // What comes later is lost. The stream would throw, and that in the midst of ending.
    isClosed = true;
    log.level = 'silent';
    return endWithin(stream);
  };
  return { log, write, close };
}

/**
 * A log for a thread: two that write to one pipe would cut into each other's lines, so `send` hands them to the one that
 * writes, those of a turn of the event loop together. `flush` hands over what is left.
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
    // The messages say it all; the fields are for machines.
    hideObject: true,
  });
}

/** A reader that lags gets what is left; one that has stopped reading must not keep the process. */
function endWithin(stream: ReturnType<typeof destination>): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, CLOSING_MS).unref();
    stream.once('close', resolve);
    stream.end();
  });
}
