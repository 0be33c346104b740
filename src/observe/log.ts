/** The log: JSON lines on stderr, pretty where that is a terminal. The only place that knows pino. */
import { type DestinationStream, destination, type Logger, pino } from 'pino';

export type Log = Logger;

const STDERR = 2;
/** What may wait for a slow reader of the log before lines are dropped, in bytes. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;

/** Opens the log. Lines are written as soon as stderr takes them; `close` writes what is left. */
export async function openLog(level: string, isTerminal: boolean): Promise<{ log: Log; close(): void }> {
  if (isTerminal) return { log: pino(optionsFor(level), await prettyStream()), close: () => {} };
  const stream = destination({ dest: STDERR, sync: false, maxLength: MAX_BUFFERED_BYTES });
  // A log that cannot be written, on a full disk say, must not stop a gateway that can still serve.
  stream.on('error', () => {});
  return { log: pino(optionsFor(level), stream), close: () => closeQuietly(stream) };
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

function closeQuietly(stream: ReturnType<typeof destination>): void {
  try {
    stream.flushSync();
  } catch {
    // Nobody reads stderr any more: there is nobody to tell.
  }
}
