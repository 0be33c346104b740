/** What a prompt tells the mock provider to do: `/error 503`, `/cut 3`, … Pure. */

/** How the mock is to answer. */
export interface Directives {
  readonly help: boolean;
  /** Answer with an HTTP error of that status. */
  readonly errorStatus: number | undefined;
  /** Wait before the answer, in milliseconds. */
  readonly delayMs: number;
  /** Wait between words, in milliseconds. */
  readonly paceMs: number;
  /** Break the connection after that many words. */
  readonly cutAfter: number | undefined;
  /** Send an error event after that many words of a stream. */
  readonly failAfter: number | undefined;
  /** Fall silent after that many words. */
  readonly stallAfter: number | undefined;
  /** Answer with that many words. */
  readonly words: number | undefined;
  /** Call the first tool of the request. */
  readonly callTool: boolean;
  readonly reportUsage: boolean;
}

/** One line for each directive, as `/help` and the README show them. */
export const DIRECTIVES: readonly (readonly [usage: string, meaning: string])[] = [
  ['/help', 'lists what the mock understands'],
  ['/error 503', 'the provider answers with that HTTP status, 400 to 599'],
  ['/delay 2s', 'waits that long before it answers (ms or s)'],
  ['/pace 100ms', 'waits that long between words (ms or s)'],
  ['/cut 3', 'the connection to the provider breaks after 3 words'],
  ['/fail 3', 'a stream brings an error event after 3 words'],
  ['/stall 3', 'the provider falls silent after 3 words, until the idle time-out'],
  ['/words 200', 'answers with that many words, 10000 at most'],
  ['/tool', 'calls the first tool of the request'],
  ['/no-usage', 'leaves out the usage figures, so that the gateway counts for itself'],
];

const MAX_WAIT_MS = 600_000;
const MAX_WORDS = 10_000;

/** Reads the directives in a prompt. What is no directive, or has no sound value, stays part of the prompt. */
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
