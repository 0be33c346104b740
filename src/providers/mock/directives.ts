/**
 * Parses the directives in a prompt that control the mock provider: `/error 503`, `/cut 3`, … Pure.
 */

/** How the mock provider responds. */
export interface Directives {
  readonly help: boolean;
  /** Respond with this HTTP error. */
  readonly errorStatus: number | undefined;
  /** The delay before the response, in milliseconds. */
  readonly delayMs: number;
  /** The delay between words, in milliseconds. */
  readonly paceMs: number;
  /** Drop the connection after this many words. */
  readonly cutAfter: number | undefined;
  /** Send an error event after this many words of a stream. */
  readonly failAfter: number | undefined;
  /** Stop sending after this many words. */
  readonly stallAfter: number | undefined;
  /** Respond with this many words. */
  readonly words: number | undefined;
  /** Call the first tool of the request. */
  readonly callTool: boolean;
  readonly reportUsage: boolean;
}

/** One row per directive, as shown by `/help` and the README. */
export const DIRECTIVES: readonly (readonly [usage: string, meaning: string])[] = [
  ['/help', 'lists these directives'],
  ['/error 503', 'responds with that HTTP status, 400 to 599'],
  ['/delay 2s', 'waits that long before it responds (ms or s)'],
  ['/pace 100ms', 'waits that long between words (ms or s)'],
  ['/cut 3', 'drops the connection after 3 words'],
  ['/fail 3', 'sends an error event after 3 words of a stream'],
  ['/stall 3', 'stops sending after 3 words, until the idle timeout'],
  ['/words 200', 'responds with that many words, at most 10000'],
  ['/tool', 'calls the first tool of the request'],
  ['/no-usage', 'omits the usage figures, so that the gateway counts the tokens itself'],
];

const MAX_WAIT_MS = 600_000;
const MAX_WORDS = 10_000;

/**
 * Parses the directives in a prompt. Unknown ones, and those with an invalid value, are ignored.
 */
export function readDirectives(prompt: string): Directives {
  const found = new Map<string, string>();
  for (const match of prompt.matchAll(/(?:^|\s)\/([a-z-]+)(?:[ \t]+(\d+(?:ms|s)?))?(?=\s|$)/g)) {
    found.set(match[1] as string, match[2] ?? '');
  }
  const number = (name: string, maximum: number) => {
    const value = found.get(name);
    return value === undefined || !/^\d{1,9}$/.test(value) ? undefined : Math.min(Number(value), maximum);
  };
  const status = number('error', Number.MAX_SAFE_INTEGER);
  return {
    help: found.has('help'),
    errorStatus: status !== undefined && status >= 400 && status <= 599 ? status : undefined,
    delayMs: milliseconds(found.get('delay')),
    paceMs: milliseconds(found.get('pace')),
    cutAfter: number('cut', MAX_WORDS),
    failAfter: number('fail', MAX_WORDS),
    stallAfter: number('stall', MAX_WORDS),
    words: number('words', MAX_WORDS),
    callTool: found.has('tool'),
    reportUsage: !found.has('no-usage'),
  };
}

function milliseconds(text: string | undefined): number {
  const match = /^(\d{1,9})(ms|s)$/.exec(text ?? '');
  if (match === null) return 0;
  return Math.min(MAX_WAIT_MS, Number(match[1]) * (match[2] === 's' ? 1000 : 1));
}
