/** The arguments of calls keep integers of any length, whichever dialects their client and their host speak. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { streaming } from '../support/answers.ts';
import { startTestGateway } from '../support/gateway.ts';

const PRICES = { input: 1, output: 2, cache_write: 1, cache_write_1h: 1, max_output: 1_000 };
const start = (provider: object) => startTestGateway({ provider: { models: { echo: PRICES }, ...provider } });
const chat = await start({ dialects: ['chat'] });
const claude = await start({ kind: 'anthropic' });
const google = await start({ kind: 'gemini' });
const ALL = [chat, claude, google];
after(() => Promise.all(ALL.map((gateway) => gateway.stop())));
afterEach(() => Promise.all(ALL.map((gateway) => gateway.assertSettled())));

/** One that a number would round. */
const ID = '1234567890123456789';
const INPUT = `{"id":${ID}}`;
const AS_TEXT = JSON.stringify(INPUT);

/** What a host answers: a call with the id. */
const CALLS = {
  chat: `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":${AS_TEXT}}}]},"finish_reason":"tool_calls"}]}`,
  claude: `{"content":[{"type":"tool_use","id":"c1","name":"f","input":${INPUT}}],"stop_reason":"tool_use"}`,
  google: `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":${INPUT}}}]},"finishReason":"STOP"}]}`,
};

/** What a client sends: the same call, and its result. */
const TURNS = {
  chat: `{"model":"fake/echo","max_tokens":50,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":${AS_TEXT}}}]},{"role":"tool","tool_call_id":"c1","content":"ok"}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
  messages: `{"model":"fake/echo","max_tokens":50,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":${INPUT}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`,
  responses: `{"model":"fake/echo","max_output_tokens":50,"input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"c1","name":"f","arguments":${AS_TEXT}},{"type":"function_call_output","call_id":"c1","output":"ok"}],"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]}`,
  google: `{"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":${INPUT}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"ok":true}}}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`,
};

const GENERATE = '/v1beta/models/fake/echo:generateContent';
const CHAT = ['/v1/chat/completions', TURNS.chat] as const;
const MESSAGES = ['/v1/messages', TURNS.messages] as const;
const RESPONSES = ['/v1/responses', TURNS.responses] as const;
const GOOGLE = [GENERATE, TURNS.google] as const;

describe('an id of 64 bits reaches the host in the arguments of a past call, and the client in those of a new one:', () => {
  for (const [name, gateway, answer, requests] of [
    ['chat completions', chat, CALLS.chat, [MESSAGES, RESPONSES, GOOGLE]],
    ['messages', claude, CALLS.claude, [CHAT, RESPONSES, GOOGLE]],
    ["Google's dialect", google, CALLS.google, [CHAT, MESSAGES, RESPONSES]],
  ] as const) {
    for (const [path, body] of requests) {
      test(`${path} at a host of ${name}`, async () => {
        gateway.upstream.follow((call) => call.answer(200, answer));
        const reply = await gateway.request(path, { key: gateway.key(), method: 'POST', body });
        assert.equal(reply.status, 200, reply.text);
        assert.ok(reply.text.includes(ID), reply.text);
        assert.ok((await gateway.upstream.call()).body.includes(ID));
      });
    }
  }

  test("in a stream of Google's", async () => {
    google.upstream.follow(streaming(`data: ${CALLS.google}\n\n`));
    const body = TURNS.chat.replace('{', '{"stream":true,');
    const reply = await google.request('/v1/chat/completions', { key: google.key(), method: 'POST', body });
    assert.ok(reply.text.includes(ID), reply.text);
  });
});
