/** A host of all dialects whose tools have prices, for tests of what is held and charged for them. */
import { completion } from '../support/answers.ts';
import type { TestGateway, TestKey } from '../support/gateway.ts';

/** USD per million tokens: 1,000, 100 and 2,000 nanodollars a token. */
const MODEL = {
  input: 1,
  cached_input: 0.1,
  output: 2,
  default_output: 100,
  tools: {
    web_search: { call: 0.01, tokens: 1_000, variants: [{ search_context_size: 'high', call: 0.02, tokens: 4_000 }] },
    code_interpreter: { call: 0.03, tokens: 0, variants: [{ memory_limit: '4g', call: 0.12 }] },
    image_generation: {
      call: 0.05,
      tokens: 0,
      variants: [
        { size: '1024x1024', quality: 'low', call: 0.01 },
        { size: '1024x1024', quality: 'high', call: 0.2 },
      ],
    },
    web_fetch: { call: 0, tokens: 2_000 },
    oracle: 0.01,
  },
};
export const CENT = 10_000_000;
export const CONFIG = {
  provider: {
    dialects: ['chat', 'responses', 'messages'],
    models: { tools: MODEL, plain: { input: 1, output: 2 }, sonar: { input: 1, output: 2 } },
  },
};
export const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' } as const;
export type Name = keyof typeof PATHS;
const messages = [{ role: 'user', content: 'Hi' }];
export const BODIES: Readonly<Record<Name, object>> = {
  chat: { messages, max_tokens: 10 },
  responses: { input: 'Hi', max_output_tokens: 10 },
  messages: { messages, max_tokens: 10 },
};
export const ANSWERS: Readonly<Record<Name, (more?: object) => object>> = {
  chat: (more) => completion('Hi', { usage: { prompt_tokens: 10, completion_tokens: 5 }, ...more }),
  responses: (more) => ({
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    output: [],
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    ...more,
  }),
  messages: (more) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [],
    stop_reason: 'end_turn',
    usage: { input_tokens: 10, output_tokens: 5 },
    ...more,
  }),
};
/** 10 tokens of input and 5 of output. */
export const TOKENS = 20_000;

export const post = (gateway: TestGateway, key: TestKey, name: Name, fields: object) =>
  gateway.post(PATHS[name], key, { model: 'fake/tools', ...BODIES[name], ...fields });

export const SEARCH = { type: 'web_search' };
export const FETCH = { type: 'web_fetch_20250910', name: 'web_fetch' };
export const code = (container: object) => ({ type: 'code_interpreter', container: { type: 'auto', ...container } });
