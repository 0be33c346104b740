/** Tries the official client libraries for JavaScript: one call for each thing that is asked of them. */
import assert from 'node:assert/strict';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import { APICallError, generateText, jsonSchema, Output, streamText, type ToolSet } from 'ai';
import OpenAI, { APIError } from 'openai';
import { FEATURES, type Feature, type Findings, YES } from './features.ts';
import type { Site } from './site.ts';

type Try = (site: Site) => Promise<void>;

export interface Library {
  readonly title: string;
  readonly package: string;
  readonly tries: Readonly<Record<Feature, Try>>;
}

const WORDS = 'Say /words 3 please';
const ANSWER = 'word word word';
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
} as const;
const NATIVE = 'native/echo';
const USER = 'user' as const;

function openai({ url, key }: Site, apiKey = key): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
}

async function sayChat(site: Site, model: string): Promise<void> {
  const answer = await openai(site).chat.completions.create({ model, messages: [{ role: USER, content: WORDS }] });
  assert.equal(answer.choices[0]?.message.content, ANSWER);
}

const CHAT_TOOL = { type: 'function', function: { name: 'look_up', parameters: { ...SCHEMA } } } as const;

const OPENAI_CHAT: Readonly<Record<Feature, Try>> = {
  plain: (site) => sayChat(site, NATIVE),
  stream: async (site) => {
    const messages = [{ role: USER, content: WORDS }];
    const stream = await openai(site).chat.completions.create({ model: NATIVE, messages, stream: true });
    let text = '';
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    assert.equal(text, ANSWER);
  },
  tools: async (site) => {
    const question = { role: USER, content: '/call look_up {"city": "Rome"}' };
    const asked = await openai(site).chat.completions.create({
      model: NATIVE,
      messages: [question],
      tools: [CHAT_TOOL],
    });
    const said = asked.choices[0]?.message ?? assert.fail('no message');
    const result = { role: 'tool' as const, tool_call_id: said.tool_calls?.[0]?.id ?? '', content: 'sunny' };
    const messages = [question, said, result];
    const answer = await openai(site).chat.completions.create({ model: NATIVE, messages, tools: [CHAT_TOOL] });
    assert.match(answer.choices[0]?.message.content ?? '', /You said/);
  },
  'two turns': async (site) => {
    const first = await openai(site).chat.completions.create({
      model: NATIVE,
      messages: [{ role: USER, content: 'hi' }],
    });
    const said = first.choices[0]?.message ?? assert.fail('no message');
    const messages = [{ role: USER, content: 'hi' }, said, { role: USER, content: 'again' }];
    const second = await openai(site).chat.completions.create({ model: NATIVE, messages });
    assert.match(second.choices[0]?.message.content ?? '', /received 3 messages/);
  },
  'structured output': async (site) => {
    const answer = await openai(site).chat.completions.parse({
      model: NATIVE,
      messages: [{ role: USER, content: 'a city' }],
      response_format: { type: 'json_schema', json_schema: { name: 'city', schema: { ...SCHEMA }, strict: true } },
    });
    assert.deepEqual(answer.choices[0]?.message.parsed, { city: 'text' });
  },
  errors: async (site) => {
    const asked = openai(site, site.spent).chat.completions.create({
      model: NATIVE,
      messages: [{ role: USER, content: 'hi' }],
    });
    await assert.rejects(asked, (error) => error instanceof APIError && error.code === 'spend_limit_reached');
  },
  translated: async (site) => {
    await sayChat(site, 'messages/echo');
    const asked = await openai(site).chat.completions.create({
      model: 'messages/echo',
      messages: [{ role: USER, content: 'hi' }],
      tools: [CHAT_TOOL],
      tool_choice: { type: 'function', function: { name: 'look_up' } },
    });
    assert.equal(asked.choices[0]?.message.tool_calls?.[0]?.type, 'function');
  },
};

async function sayResponses(site: Site, model: string): Promise<void> {
  const answer = await openai(site).responses.create({ model, input: WORDS, store: false });
  assert.equal(answer.output_text, ANSWER);
}

const RESPONSES_TOOL = { type: 'function', name: 'look_up', parameters: { ...SCHEMA }, strict: true } as const;

const OPENAI_RESPONSES: Readonly<Record<Feature, Try>> = {
  plain: (site) => sayResponses(site, NATIVE),
  stream: async (site) => {
    const stream = openai(site).responses.stream({ model: NATIVE, input: WORDS, store: false });
    assert.equal((await stream.finalResponse()).output_text, ANSWER);
  },
  tools: async (site) => {
    const input = '/call look_up {"city": "Rome"}';
    const asked = await openai(site).responses.create({ model: NATIVE, input, tools: [RESPONSES_TOOL], store: false });
    const [call] = asked.output;
    assert.ok(call?.type === 'function_call');
    const result = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' } as const;
    const items = [{ role: USER, content: input }, call, result];
    const answer = await openai(site).responses.create({
      model: NATIVE,
      input: items,
      tools: [RESPONSES_TOOL],
      store: false,
    });
    assert.match(answer.output_text, /You said/);
  },
  'two turns': async (site) => {
    const first = await openai(site).responses.create({ model: NATIVE, input: 'hi', store: false });
    const input = [{ role: USER, content: 'hi' }, ...first.output, { role: USER, content: 'again' }];
    const second = await openai(site).responses.create({ model: NATIVE, input: input as never, store: false });
    assert.match(second.output_text, /received 3 messages/);
  },
  'structured output': async (site) => {
    const answer = await openai(site).responses.parse({
      model: NATIVE,
      input: 'a city',
      store: false,
      text: { format: { type: 'json_schema', name: 'city', schema: { ...SCHEMA }, strict: true } },
    });
    assert.deepEqual(answer.output_parsed, { city: 'text' });
  },
  errors: async (site) => {
    const asked = openai(site, site.spent).responses.create({ model: NATIVE, input: 'hi', store: false });
    await assert.rejects(asked, (error) => error instanceof APIError && error.code === 'spend_limit_reached');
  },
  translated: async (site) => {
    for (const model of ['chat/echo', 'messages/echo']) await sayResponses(site, model);
  },
};

function anthropic({ url, key }: Site, apiKey = key): Anthropic {
  return new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
}

const ASKED = { model: NATIVE, max_tokens: 1_000 };
const MESSAGES_TOOL = { name: 'look_up', input_schema: { ...SCHEMA, required: ['city'] } };

async function sayMessages(site: Site, model: string): Promise<void> {
  const answer = await anthropic(site).messages.create({ ...ASKED, model, messages: [{ role: USER, content: WORDS }] });
  assert.deepEqual(
    answer.content.map((block) => block.type === 'text' && block.text),
    [ANSWER],
  );
}

const ANTHROPIC: Readonly<Record<Feature, Try>> = {
  plain: (site) => sayMessages(site, NATIVE),
  stream: async (site) => {
    const stream = anthropic(site).messages.stream({ ...ASKED, messages: [{ role: USER, content: WORDS }] });
    assert.equal(await stream.finalText(), ANSWER);
  },
  tools: async (site) => {
    const question = { role: USER, content: '/call look_up {"city": "Rome"}' };
    const asked = await anthropic(site).messages.create({ ...ASKED, messages: [question], tools: [MESSAGES_TOOL] });
    const call = asked.content.find((block) => block.type === 'tool_use') ?? assert.fail('no call');
    const result = { type: 'tool_result' as const, tool_use_id: call.id, content: 'sunny' };
    const messages = [
      question,
      { role: 'assistant' as const, content: asked.content },
      { role: USER, content: [result] },
    ];
    const answer = await anthropic(site).messages.create({ ...ASKED, messages, tools: [MESSAGES_TOOL] });
    assert.equal(answer.stop_reason, 'end_turn');
  },
  'two turns': async (site) => {
    const first = await anthropic(site).messages.create({ ...ASKED, messages: [{ role: USER, content: 'hi' }] });
    const messages = [
      { role: USER, content: 'hi' },
      { role: 'assistant' as const, content: first.content },
      { role: USER, content: 'again' },
    ];
    const second = await anthropic(site).messages.create({ ...ASKED, messages });
    assert.match(JSON.stringify(second.content), /received 3 messages/);
  },
  'structured output': async (site) => {
    const answer = await anthropic(site).messages.parse({
      ...ASKED,
      messages: [{ role: USER, content: 'a city' }],
      output_config: { format: { type: 'json_schema', schema: { ...SCHEMA }, parse: JSON.parse } },
    });
    assert.deepEqual(answer.parsed_output, { city: 'text' });
  },
  errors: async (site) => {
    const asked = anthropic(site, site.spent).messages.create({ ...ASKED, messages: [{ role: USER, content: 'hi' }] });
    await assert.rejects(asked, (error) => error instanceof AnthropicError && /spend limit/.test(error.message));
  },
  translated: async (site) => {
    await sayMessages(site, 'chat/echo');
    const messages = [{ role: USER, content: 'hi' }];
    const choice = { type: 'tool' as const, name: 'look_up' };
    const asked = await anthropic(site).messages.create({
      ...ASKED,
      model: 'chat/echo',
      messages,
      tools: [MESSAGES_TOOL],
      tool_choice: choice,
    });
    assert.equal(asked.stop_reason, 'tool_use');
  },
};

type Model = Parameters<typeof generateText>[0]['model'];

/** The AI SDK is the same for each of its providers. */
function aiSdk(
  modelOf: (site: Site, key: string, id: string) => Model,
  translated: readonly string[],
): Readonly<Record<Feature, Try>> {
  const tools: ToolSet = { look_up: { inputSchema: jsonSchema(SCHEMA), execute: () => 'sunny' } as ToolSet[string] };
  const native = (site: Site) => modelOf(site, site.key, NATIVE);
  // The answers of the vendor's host can be referred to: here nothing is kept.
  const options = { providerOptions: { openai: { store: false } }, maxRetries: 0 };
  const say = async (model: Model) =>
    assert.equal((await generateText({ model, prompt: WORDS, ...options })).text, ANSWER);
  return {
    plain: (site) => say(native(site)),
    stream: async (site) =>
      assert.equal(await streamText({ model: native(site), prompt: WORDS, ...options }).text, ANSWER),
    tools: async (site) => {
      const prompt = '/call look_up {"city": "Rome"}';
      const { steps } = await generateText({
        model: native(site),
        prompt,
        tools,
        stopWhen: ({ steps: made }) => made.length > 1,
        ...options,
      });
      assert.equal(steps[0]?.toolResults[0]?.output, 'sunny');
    },
    'two turns': async (site) => {
      const first = await generateText({ model: native(site), prompt: 'hi', ...options });
      const messages = [{ role: USER, content: 'hi' }, ...first.response.messages, { role: USER, content: 'again' }];
      assert.match((await generateText({ model: native(site), messages, ...options })).text, /received 3 messages/);
    },
    'structured output': async (site) => {
      const output = Output.object({ schema: jsonSchema<{ city: string }>(SCHEMA) });
      assert.deepEqual((await generateText({ model: native(site), prompt: 'a city', output, ...options })).output, {
        city: 'text',
      });
    },
    errors: async (site) => {
      const asked = generateText({ model: modelOf(site, site.spent, NATIVE), prompt: 'hi', ...options });
      await assert.rejects(asked, (error) => APICallError.isInstance(error) && error.statusCode === 402);
    },
    translated: async (site) => {
      for (const id of translated) await say(modelOf(site, site.key, id));
    },
  };
}

export const LIBRARIES: readonly Library[] = [
  { title: 'OpenAI’s library for JS, chat', package: 'openai', tries: OPENAI_CHAT },
  { title: 'OpenAI’s library for JS, responses', package: 'openai', tries: OPENAI_RESPONSES },
  { title: 'Anthropic’s library for JS', package: '@anthropic-ai/sdk', tries: ANTHROPIC },
  {
    title: 'AI SDK, OpenAI’s provider',
    package: '@ai-sdk/openai',
    tries: aiSdk(
      (site, apiKey, id) => createOpenAI({ baseURL: `${site.url}/v1`, apiKey })(id),
      ['chat/echo', 'messages/echo'],
    ),
  },
  {
    title: 'AI SDK, Anthropic’s provider',
    package: '@ai-sdk/anthropic',
    tries: aiSdk((site, apiKey, id) => createAnthropic({ baseURL: `${site.url}/v1`, apiKey })(id), ['chat/echo']),
  },
];

export async function findingsOf({ title, tries }: Library, site: Site): Promise<Findings> {
  const found: Partial<Record<Feature, string>> = {};
  for (const feature of FEATURES) {
    found[feature] = await tries[feature](site).then(
      () => YES,
      (error: unknown) => `fails: ${String(error).split('\n')[0]?.slice(0, 100).replaceAll('|', '/')}`,
    );
    console.log(`${title}: ${feature}: ${found[feature]}`);
  }
  return found as Findings;
}
