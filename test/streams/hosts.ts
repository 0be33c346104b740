/**
 * Streams as hosts send them, in all formats, and what a client that did not request usage gets of
 * each.
 */
import { DONE, event, USAGE } from '../support/answers.ts';

/** Consecutive events of a stream. Those that are hidden from the client are marked. */
export interface HostStream {
  readonly name: string;
  readonly pieces: readonly Piece[];
}

export interface Piece {
  readonly text: string;
  /** Contains only usage, which the gateway requested and the client did not. */
  readonly isHidden?: true;
}

/** Characters of one to four bytes, so that cuts fall within each kind. */
const WORDS = 'a é 漢 🚀';

const delta = (fields: object, finish: string | null = null, more: object = {}) => ({
  text: event({
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: fields, finish_reason: finish }],
    ...more,
  }),
});
const usage = (): Piece => ({ text: event({ id: 'c', choices: [], usage: USAGE }), isHidden: true });
const text = (...texts: readonly string[]): Piece[] => texts.map((each) => ({ text: each }));
const done = { text: DONE };

/** An event with two data lines. */
const TWO_LINES = `data: {"choices":[{"index":0,"delta":\ndata: {"content":"${WORDS}"}}]}\n\n`;

/** The same stream with other line ends. */
function withLineEnds(name: string, lineEnd: (index: number) => string): HostStream {
  let index = 0;
  const pieces = [delta({ content: WORDS }), ...text(TWO_LINES), usage(), delta({}, 'stop'), done];
  return { name, pieces: pieces.map((each) => ({ ...each, text: each.text.replace(/\n/g, () => lineEnd(index++)) })) };
}

const MIXED = ['\r\n', '\n', '\r'];

export const HOST_STREAMS: readonly HostStream[] = [
  {
    name: 'of OpenAI, with obfuscation, and usage in a chunk of its own',
    pieces: [
      delta({ role: 'assistant', content: '' }, null, { usage: null, obfuscation: 'x1' }),
      delta({ content: WORDS }, null, { usage: null, obfuscation: 'yz' }),
      delta({}, 'stop', { usage: null, obfuscation: '' }),
      usage(),
      done,
    ],
  },
  {
    name: 'of Groq, with usage in the finish chunk, twice',
    pieces: [delta({ reasoning: WORDS }), delta({}, 'stop', { usage: USAGE, x_groq: { id: 'r', usage: USAGE } }), done],
  },
  {
    name: 'of Mistral, with content in parts',
    pieces: [
      delta({ content: [{ type: 'text', text: WORDS }] }),
      delta({ content: '' }, 'model_length', { usage: USAGE }),
      done,
    ],
  },
  {
    name: 'of DeepSeek, with comments that keep it alive',
    pieces: [
      ...text(': keep-alive\n\n', ': keep-alive\n\n'),
      delta({ content: null, reasoning_content: WORDS }),
      ...text(': keep-alive\n\n'),
      delta({ content: '' }, 'stop', { usage: USAGE }),
      done,
    ],
  },
  {
    name: 'of OpenRouter, with comments and usage at the end',
    pieces: [
      ...text(': OPENROUTER PROCESSING\n\n', ':\n'),
      delta({ content: WORDS }),
      ...text(': OPENROUTER PROCESSING\n\n'),
      delta({ content: '' }, 'stop'),
      usage(),
      done,
    ],
  },
  {
    name: 'of Azure, with a first chunk without choices',
    pieces: [
      { text: event({ id: '', choices: [], prompt_filter_results: [{ prompt_index: 0 }] }) },
      delta({ content: WORDS }, 'stop'),
      done,
    ],
  },
  {
    name: 'with names, ids, several data lines, and no space after the colon',
    pieces: [
      ...text(
        `event: message\nid: 1\nretry: 5\ndata:{"choices":[{"index":0,"delta":\ndata: {"content":"${WORDS}"}}]}\n\n`,
      ),
      ...text('data:{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\nunknown\n\n', 'data:[DONE]\n\n'),
    ],
  },
  {
    name: 'with a byte order mark, blank lines and empty data',
    pieces: [...text('\ufeff', '\n\n', 'data\n\n', 'data:\n\n'), delta({ content: WORDS }), delta({}, 'stop'), done],
  },
  withLineEnds('with CRLF', () => '\r\n'),
  withLineEnds('with CR', () => '\r'),
  withLineEnds('with line ends of all kinds', (index) => MIXED[index % MIXED.length] as string),
];
