/** Clients of each dialect that ask, get an answer with thinking and a call, and go on from there. */
import type { ClientDialect, DialectName } from '../../../src/core/dialects.ts';
import { isObject } from '../../../src/core/json.ts';
import type { Fields } from '../../../src/dialects/dialect.ts';
import type { ResponseTranslation } from '../../../src/translate/translation.ts';
import { SseSplitter } from '../../../src/wire/sse.ts';
import { translated } from './hosted.ts';
import { messageIn } from './messages-chat-support.ts';
import { responseIn } from './responses-support.ts';

/** A client of two turns: what it asks first, and with the answer and the output of the call. */
export interface Client {
  readonly dialect: ClientDialect;
  readonly first: Fields;
  /** A whole answer that a stream adds up to. */
  readonly read: (stream: string) => Fields;
  readonly next: (answer: Fields) => Fields;
}

export const USER = { role: 'user', content: 'Hi' };

const MESSAGES: Client = {
  dialect: 'messages',
  first: { thinking: { type: 'adaptive' }, tools: [{ name: 'look', input_schema: { type: 'object' } }] },
  read: messageIn,
  next: ({ content }) => ({
    messages: [
      USER,
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'x' }] },
    ],
  }),
};
const RESPONSES: Client = {
  dialect: 'responses',
  first: { tools: [{ type: 'function', name: 'look' }] },
  read: responseIn,
  next: ({ output }) => ({
    input: [USER, ...(output as Fields[]), { type: 'function_call_output', call_id: 'c1', output: 'x' }],
  }),
};
const GEMINI: Client = {
  dialect: 'gemini',
  first: {
    generationConfig: { thinkingConfig: { includeThoughts: true } },
    tools: [{ functionDeclarations: [{ name: 'look' }] }],
  },
  read: (stream) => {
    const events = new SseSplitter().push(Buffer.from(stream)).map(({ data }) => JSON.parse(data ?? ''));
    const parts = events.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
    return { candidates: [{ content: { role: 'model', parts } }] };
  },
  next: ({ candidates }) => ({
    contents: [
      { role: 'user', parts: [{ text: 'Hi' }] },
      (candidates as { content: Fields }[])[0]?.content,
      { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'look', response: { output: 'x' } } }] },
    ],
  }),
};
/** Of all dialects but chat. */
export const CLIENTS: readonly (readonly [who: string, client: Client])[] = [
  ['messages', MESSAGES],
  [
    'messages that is not to see it',
    { ...MESSAGES, first: { ...MESSAGES.first, thinking: { type: 'adaptive', display: 'omitted' } } },
  ],
  ['responses', RESPONSES],
  ['gemini', GEMINI],
];

export const CHAT_CLIENT: Client = {
  dialect: 'chat',
  first: { tools: [{ type: 'function', function: { name: 'look' } }] },
  read: (stream) => {
    const datas = new SseSplitter().push(Buffer.from(stream)).map(({ data }) => data ?? '');
    const chunks = datas.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data));
    const deltas: Fields[] = chunks.map(({ choices }) => choices[0]?.delta ?? {});
    return { choices: [{ message: deltas.reduce(joined, {}) }] };
  },
  next: ({ choices }) => ({
    messages: [
      USER,
      (choices as { message: Fields }[])[0]?.message,
      { role: 'tool', tool_call_id: 'c1', content: 'x' },
    ],
  }),
};

/** As the official library adds deltas up: texts are joined, and entries of lists by their index. */
function joined(sum: Fields, delta: Fields): Fields {
  const all: Record<string, unknown> = { ...sum };
  for (const [name, value] of Object.entries(delta)) {
    const known = all[name];
    if (Array.isArray(value)) {
      const list: Fields[] = Array.isArray(known) ? [...known] : [];
      for (const { index, ...item } of value) list[index] = joined(list[index] ?? {}, item);
      all[name] = list;
    } else if (isObject(value) && isObject(known)) all[name] = joined(known, value);
    else all[name] = typeof value === 'string' && typeof known === 'string' && name !== 'role' ? known + value : value;
  }
  return all;
}

/** The second turn of a client, as its host gets it. */
export function secondTurn(
  { dialect, first, next }: Client,
  to: DialectName,
  answerOf: (response: ResponseTranslation) => Fields,
): { readonly fields: Fields; readonly ignored: readonly string[] } {
  const { response } = translated(dialect, to, first);
  return translated(dialect, to, { ...first, ...next(answerOf(response)) });
}
