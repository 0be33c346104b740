/**
 * Parses the directives in a prompt that control the mock provider: `/error 503`, `/cut 3`, … Pure.
 */
import { isObject, parseJson } from '../../core/json.ts';

/** Settings of a mock response. */
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
  /** Reason in this many words first, or in this text. */
  readonly thinking: number | string | undefined;
  /** Call the first tool of the request. */
  readonly callTool: boolean;
  /** Tools to call, in order. */
  readonly calls: readonly CallDirective[];
  readonly reportUsage: boolean;
  /** Number of input tokens reported as read from the cache. */
  readonly cacheReadTokens: number;
  /** Number of input tokens reported as written to the cache. */
  readonly cacheWriteTokens: number;
}

export interface CallDirective {
  readonly name: string;
  /** A JSON object, spelled like in the prompt. */
  readonly argumentsJson: string;
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
  ['/think 20', 'reasons in that many words first; or in the words that stand there instead of a number'],
  ['/tool', 'calls the first tool of the request, with arguments that it takes'],
  ['/call read {"path": "a.txt"}', 'calls that tool once with these arguments; then the next such call, or text'],
  ['/cache 100', 'reports that 100 input tokens were read from the cache'],
  ['/cache-write 100', 'reports that 100 input tokens were written to the cache'],
  ['/no-usage', 'omits the usage figures, so that the gateway counts the tokens itself'],
];

const MAX_WAIT_MS = 600_000;
const MAX_WORDS = 10_000;
const NAMES = new Set(DIRECTIVES.map(([usage]) => usage.slice(1).split(' ')[0] as string));

/** Parses the directives in a prompt. Unknown or invalid ones are ignored. */
export function readDirectives(prompt: string): Directives {
  const { calls, rest } = takeCalls(prompt);
  const found = findArguments(rest);
  const number = (name: string, maximum: number) => {
    const value = firstWord(found.get(name));
    return /^\d{1,9}$/.test(value) ? Math.min(Number(value), maximum) : undefined;
  };
  const status = number('error', Number.MAX_SAFE_INTEGER);
  return {
    help: found.has('help'),
    errorStatus: status !== undefined && status >= 400 && status <= 599 ? status : undefined,
    delayMs: milliseconds(firstWord(found.get('delay'))),
    paceMs: milliseconds(firstWord(found.get('pace'))),
    cutAfter: number('cut', MAX_WORDS),
    failAfter: number('fail', MAX_WORDS),
    stallAfter: number('stall', MAX_WORDS),
    words: number('words', MAX_WORDS),
    thinking: number('think', MAX_WORDS) ?? (found.get('think') || undefined),
    callTool: found.has('tool'),
    calls,
    reportUsage: !found.has('no-usage'),
    cacheReadTokens: number('cache', Number.MAX_SAFE_INTEGER) ?? 0,
    cacheWriteTokens: number('cache-write', Number.MAX_SAFE_INTEGER) ?? 0,
  };
}

/** Returns the text after each directive on its line, up to the next directive. The last one of a name wins. */
function findArguments(text: string): Map<string, string> {
  const matches = [...text.matchAll(/(?:^|\s)\/([a-z-]+)(?=\s|$)/g)].filter(({ 1: name }) => NAMES.has(name as string));
  return new Map(
    matches.map((match, position) => {
      const [line = ''] = text.slice(match.index + match[0].length, matches[position + 1]?.index).split('\n', 1);
      return [match[1] as string, line.trim()];
    }),
  );
}

function firstWord(text = ''): string {
  return /^\S*/.exec(text)?.[0] ?? '';
}

/** Extracts the `/call` directives. Their arguments are removed from the text, so that they are not parsed as directives. */
function takeCalls(prompt: string): { readonly calls: readonly CallDirective[]; readonly rest: string } {
  const calls: CallDirective[] = [];
  const rest: string[] = [];
  const pattern = /(?:^|\s)\/call[ \t]+([\w.:-]{1,128})\s+(?=\{)/g;
  let from = 0;
  for (let match = pattern.exec(prompt); match !== null; match = pattern.exec(prompt)) {
    const end = endOfObject(prompt, pattern.lastIndex);
    if (end === undefined) break;
    const argumentsJson = prompt.slice(pattern.lastIndex, end);
    if (isObject(parseJson(argumentsJson)?.value)) calls.push({ name: match[1] as string, argumentsJson });
    rest.push(prompt.slice(from, match.index));
    from = end;
    pattern.lastIndex = end;
  }
  return { calls, rest: [...rest, prompt.slice(from)].join('\n') };
}

/** Returns the offset after the object that starts at `start`; undefined if it is incomplete. */
function endOfObject(text: string, start: number): number | undefined {
  let depth = 0;
  let isInString = false;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (isInString && character === '\\') at++;
    else if (character === '"') isInString = !isInString;
    else if (isInString) continue;
    else if (character === '{') depth++;
    else if (character === '}' && --depth === 0) return at + 1;
  }
  return undefined;
}

function milliseconds(text: string): number {
  const match = /^(\d{1,9})(ms|s)$/.exec(text);
  if (match === null) return 0;
  return Math.min(MAX_WAIT_MS, Number(match[1]) * (match[2] === 's' ? 1000 : 1));
}
