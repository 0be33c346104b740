/** What is removed from answers: errors and foreign members at every level that events have. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CHAT } from '../../../src/dialects/chat/chat.ts';
import { MESSAGES } from '../../../src/dialects/messages/messages.ts';
import { RESPONSES } from '../../../src/dialects/responses/responses.ts';
import { withoutSecrets } from '../../../src/wire/answer-secrets.ts';

const HOST = 'api.internal.example';
const KEY = 'sk-of-the-operator';
const SECRETS = { parts: [KEY, HOST], words: [], credentials: [KEY] };
const ADDRESS = `http://${HOST}/base/v1`;
const ACCOUNT = { code: 'x', message: 'Your account has no balance.' };
const WITHHELD = { code: 'upstream_error', message: 'The provider reported an error.' };
const HARMLESS = { code: 'server_error', message: 'The model stopped.' };

/** The answer as a client reads it. */
function cleaned(answer: Record<string, unknown>, { answerFields } = RESPONSES): unknown {
  const text = JSON.stringify(answer);
  return JSON.parse(withoutSecrets(text, answer, SECRETS, answerFields) ?? text);
}

/** Answers and events around what a host has added at one level. */
const LEVELS: readonly (readonly [name: string, dialect: typeof RESPONSES, around: (added: object) => object])[] = [
  ['a chunk', CHAT, (added) => ({ choices: [], ...added })],
  ['a response', RESPONSES, (added) => ({ status: 'failed', output: [], ...added })],
  ['an item of a response', RESPONSES, (added) => ({ output: [{ type: 'message', ...added }] })],
  ['a response in an event', RESPONSES, (added) => ({ type: 'response.created', response: { id: 'r', ...added } })],
  ['an item in a response in an event', RESPONSES, (added) => ({ response: { output: [{ id: 'i', ...added }] } })],
  ['an item in an event', RESPONSES, (added) => ({ item: { id: 'i', ...added } })],
  ['a part in an event', RESPONSES, (added) => ({ part: { type: 'output_text', ...added } })],
  ['a message', MESSAGES, (added) => ({ type: 'message', content: [], ...added })],
  ['a block of a message', MESSAGES, (added) => ({ content: [{ type: 'text', text: '', ...added }] })],
  ['a message in an event', MESSAGES, (added) => ({ type: 'message_start', message: { id: 'm', ...added } })],
  ['a block in an event', MESSAGES, (added) => ({ content_block: { type: 'text', text: '', ...added } })],
  ['a delta in an event', MESSAGES, (added) => ({ delta: { type: 'text_delta', text: '', ...added } })],
];

for (const [name, dialect, around] of LEVELS) {
  describe(`in ${name}`, () => {
    const read = (added: object) => cleaned(around(added) as Record<string, unknown>, dialect);

    test('an error about the account, or with an address, is withheld whole', () => {
      assert.deepEqual(read({ error: ACCOUNT }), around({ error: WITHHELD }));
      assert.deepEqual(read({ error: { message: `See ${ADDRESS}` } }), around({ error: WITHHELD }));
      assert.deepEqual(read({ error: { type: 'not_found_error', message: 'model: m' } }), around({ error: WITHHELD }));
    });

    test('other errors stay', () => {
      assert.deepEqual(read({ error: HARMLESS }), around({ error: HARMLESS }));
      assert.deepEqual(read({ error: null }), around({ error: null }));
    });

    test('an address is removed from foreign members', () => {
      assert.deepEqual(
        read({ debug: { upstream: [ADDRESS], n: 1 }, [ADDRESS]: true }),
        around({ debug: { upstream: ['[withheld]'], n: 1 }, '[withheld]': true }),
      );
    });
  });
}

const WRITTEN: readonly (readonly [dialect: typeof RESPONSES, answer: (text: string) => Record<string, unknown>])[] = [
  [CHAT, (text) => ({ choices: [{ index: 0, message: { content: text, reasoning: text } }] })],
  [RESPONSES, (text) => ({ output: [{ type: 'message', content: [{ type: 'output_text', text }] }] })],
  [RESPONSES, (text) => ({ item: { type: 'function_call', name: 'f', arguments: text } })],
  [RESPONSES, (text) => ({ item: { type: 'reasoning', summary: [{ type: 'summary_text', text }] } })],
  [RESPONSES, (text) => ({ item: { type: 'web_search_call', action: { type: 'search', query: text } } })],
  [RESPONSES, (text) => ({ item: { type: 'mcp_call', output: text, error: null } })],
  [RESPONSES, (text) => ({ response: { output: [{ type: 'custom_tool_call', input: text }] } })],
  [RESPONSES, (text) => ({ type: 'response.output_text.delta', delta: text })],
  [RESPONSES, (text) => ({ type: 'response.refusal.done', refusal: text })],
  [MESSAGES, (text) => ({ content: [{ type: 'tool_use', name: 'f', input: { url: text } }] })],
  [MESSAGES, (text) => ({ content: [{ type: 'web_search_tool_result', content: [{ url: text }] }] })],
  [MESSAGES, (text) => ({ content_block: { type: 'thinking', thinking: text } })],
  [MESSAGES, (text) => ({ delta: { type: 'input_json_delta', partial_json: text } })],
];

describe('models may write any address, but no credential:', () => {
  for (const [dialect, answer] of WRITTEN) {
    test(`${dialect.name} ${JSON.stringify(answer('…'))}`, () => {
      const text = JSON.stringify(answer(ADDRESS));
      assert.equal(withoutSecrets(text, answer(ADDRESS), SECRETS, dialect.answerFields), undefined);
      assert.deepEqual(cleaned(answer(`use ${KEY}`), dialect), answer('use [withheld]'));
    });
  }
});
