/** Attacks with answers in another form than their request asks for: events, an array of pieces, or a whole answer. */
import type { UpstreamCall } from '../../support/fake-upstream.ts';
import type { Attack, Family } from '../attack.ts';
import { billedOverScriptedCharge, type Fields, OVER_SCRIPTED_CHARGE, type ScriptedAttack } from '../scripted.ts';

const INPUT = 1_000;
const OUTPUT = 5_000;
/** Nanodollars. */
const BILL = INPUT * 1_000 + OUTPUT * 2_000;
const MODEL = { input: 1, output: 2, cache_write: 1, cache_write_1h: 1, default_output: 10 };

/** What a host answers in pieces. */
interface Host {
  readonly name: string;
  readonly provider: Fields;
  readonly pieces: readonly Fields[];
  /** The data of an event that ends a stream. */
  readonly last?: string;
}

const candidate = (text: string, more: Fields = {}) => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, ...more }],
});
const GEMINI: Host = {
  name: 'Gemini',
  provider: { kind: 'gemini' },
  pieces: [
    candidate('One. '),
    {
      ...candidate('Two.', { finishReason: 'STOP' }),
      usageMetadata: { promptTokenCount: INPUT, candidatesTokenCount: OUTPUT },
    },
  ],
};
const CHAT: Host = {
  name: 'chat',
  provider: { kind: 'openai' },
  pieces: [
    { choices: [{ index: 0, delta: { content: 'One.' }, finish_reason: 'stop' }] },
    { choices: [], usage: { prompt_tokens: INPUT, completion_tokens: OUTPUT, total_tokens: INPUT + OUTPUT } },
  ],
  last: '[DONE]',
};
const MESSAGES: Host = {
  name: 'messages',
  provider: { kind: 'anthropic' },
  pieces: [
    {
      type: 'message_start',
      message: { role: 'assistant', content: [], usage: { input_tokens: INPUT, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'One.' } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: OUTPUT } },
    { type: 'message_stop' },
  ],
};
const RESPONSES: Host = {
  name: 'responses',
  provider: { kind: 'openai', dialects: ['responses'] },
  pieces: [
    { type: 'response.output_text.delta', output_index: 0, delta: 'One.' },
    {
      type: 'response.completed',
      response: { id: 'r', status: 'completed', output: [], usage: { input_tokens: INPUT, output_tokens: OUTPUT } },
    },
  ],
};

const JSON_TYPE = { 'content-type': 'application/json' };
const EVENTS_TYPE = { 'content-type': 'text/event-stream' };

type Answer = (host: Host) => readonly [body: string, headers: Record<string, string>];
const asEvents: Answer = ({ pieces, last }) => {
  const data = [...pieces.map((piece) => JSON.stringify(piece)), ...(last === undefined ? [] : [last])];
  return [data.map((each) => `data: ${each}\n\n`).join(''), EVENTS_TYPE];
};
/** Google's hosts break the lines of their arrays. */
const asArray: Answer = ({ pieces }) => [JSON.stringify(pieces, undefined, 2), JSON_TYPE];
const asArrayOfEvents: Answer = ({ pieces }) => [JSON.stringify(pieces), EVENTS_TYPE];
const asPiece: Answer = ({ pieces }) => [JSON.stringify(pieces.at(-1)), JSON_TYPE];
const asEventsInJson: Answer = (host) => [asEvents(host)[0], JSON_TYPE];

const SAID = { messages: [{ role: 'user', content: 'Hi' }] };
const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] };
const GENERATE = '/v1beta/models/host/model:generateContent';
const STREAM = '/v1beta/models/host/model:streamGenerateContent?alt=sse';
const CHATS = '/v1/chat/completions';

type Row = readonly [what: string, host: Host, path: string, body: Fields, answer: Answer];
const ROWS: readonly Row[] = [
  ['an array where events were expected', GEMINI, STREAM, CONTENTS, asArray],
  ['an array as events', GEMINI, STREAM, CONTENTS, asArrayOfEvents],
  ['a whole answer where events were expected', GEMINI, STREAM, CONTENTS, asPiece],
  ['an array where events were expected, for a client of chat', GEMINI, CHATS, { ...SAID, stream: true }, asArray],
  ['events where a whole answer was expected', GEMINI, GENERATE, CONTENTS, asEvents],
  ['events as JSON where a whole answer was expected', GEMINI, GENERATE, CONTENTS, asEventsInJson],
  ['an array where a whole answer was expected', GEMINI, GENERATE, CONTENTS, asArray],
  ['events where a whole answer was expected, for a client of chat', GEMINI, CHATS, SAID, asEvents],
  ['events where a whole answer was expected', CHAT, CHATS, SAID, asEvents],
  ['events where a whole answer was expected', MESSAGES, '/v1/messages', { ...SAID, max_tokens: 20 }, asEvents],
  ['events where a whole answer was expected', RESPONSES, '/v1/responses', { input: 'Hi' }, asEvents],
];

const attacks = ROWS.map(([what, host, path, body, answerFor]): Attack => {
  const attack: ScriptedAttack = {
    path,
    send: async () => ({ body: JSON.stringify({ model: 'host/model', ...body }) }),
    providers: { host: { ...host.provider, models: { model: MODEL } } },
    script: (call: UpstreamCall) => {
      const [text, headers] = answerFor(host);
      call.answer(200, text, headers);
    },
    bill: BILL,
  };
  return {
    claim: `${what}, from a host of ${host.name}, is charged as reported`,
    passes: 'balance',
    tries: `(a host of ${host.name} that sends ${what})`,
    ...OVER_SCRIPTED_CHARGE,
    run: () => billedOverScriptedCharge(attack),
  };
});

export const FORMS: Family = {
  title: 'Answers in another form',
  about: 'A host may ignore whether a request asks for a stream. Its answer is read in the form that it has.',
  attacks,
};
