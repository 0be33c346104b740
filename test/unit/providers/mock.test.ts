/** The mock provider: what every directive does. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { NO_OUTPUT } from '../../../src/dialects/answer.ts';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { DIRECTIVES } from '../../../src/providers/mock/directives.ts';
import type { Step } from '../../../src/providers/mock/mock.ts';
import { SseSplitter } from '../../../src/wire/sse.ts';
import { answerTo, eventsOf, functionTool, type Json, jsonFormat, play, said } from './mock-script.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    days: { type: 'array', items: { type: 'integer', minimum: 1 }, minItems: 1 },
  },
  required: ['city', 'days'],
  additionalProperties: false,
};

/** What the gateway reads of a stream. */
function factsOf(text: string) {
  const reader = DIALECTS.chat.startStream('req_1');
  const judgements = new SseSplitter().push(Buffer.from(text)).map((event) => reader.judge(event));
  const parts = judgements.flatMap((judgement) => (judgement.kind === 'part' ? judgement.facts.progress : []));
  const facts = judgements.flatMap((judgement) => ('facts' in judgement && judgement.facts ? [judgement.facts] : []));
  return {
    kinds: judgements.map(({ kind }) => kind),
    usage: facts.findLast(({ usage }) => usage !== undefined)?.usage,
    written: parts.flatMap(({ written }) => written).join(''),
    finished: facts.some(({ progress }) => progress.some(({ finished }) => finished)),
  };
}

const tools = [functionTool('look_up'), functionTool('read')];
const ask = (prompt: string, fields: Json = {}) => said(answerTo('chat', prompt, fields));
const stream = (prompt: string, fields: Json = {}) => play('chat', prompt, { stream: true, ...fields });
const readWhole = (prompt: string, fields: Json = {}) => DIALECTS.chat.readAnswer(answerTo('chat', prompt, fields));

describe('what a request demands', () => {
  const text = (fields: Json, prompt = 'hi') => JSON.parse(ask(prompt, fields).text);

  test('is JSON of its schema, whole and in a stream', () => {
    assert.deepEqual(text(jsonFormat(SCHEMA)), { city: 'text', days: [1] });
    const pieces = factsOf(stream('hi', jsonFormat(SCHEMA)).text).written;
    assert.deepEqual(JSON.parse(pieces), { city: 'text', days: [1] });
  });

  test('is any JSON object', () => {
    assert.deepEqual(text(jsonFormat()), {});
  });

  test('is a call of any tool, or of the one that it names, with arguments that the tool takes', () => {
    const demanding = [functionTool('look_up'), functionTool('read', SCHEMA)];
    const call = (tool_choice: unknown, prompt = 'hi') => ask(prompt, { tools: demanding, tool_choice }).call;
    const args = JSON.stringify({ city: 'text', days: [1] });
    assert.deepEqual(call('required'), { name: 'look_up', args: '{}' });
    assert.deepEqual(call({ type: 'function', function: { name: 'read' } }), { name: 'read', args });
    assert.deepEqual(call({ type: 'function', function: { name: 'read' } }, '/call look_up {"a": 1}'), {
      name: 'read',
      args,
    });
    assert.equal(call('none', '/tool'), undefined);
    assert.equal(ask('hi', { tools: demanding }).call, undefined);
  });
});

describe('a whole answer', () => {
  test('repeats the prompt, and counts a word as a token', () => {
    const answer = ask('hello there');
    assert.match(answer.text, /^You said: hello there\n\(The mock provider received 1 message, 0 tools\./);
    assert.equal(answer.ending, 'stop');
    const { usage, choices, progress } = readWhole('/words 7');
    assert.equal(choices, 1);
    assert.deepEqual([usage?.completionTokens, usage?.cachedTokens], [7, 0]);
    assert.ok((usage?.promptTokens ?? 0) > 0);
    assert.deepEqual(progress, [
      { ...NO_OUTPUT, index: 0, finished: true, written: ['word word word word word word word'] },
    ]);
  });

  test('ends at the maximum of output, and says so', () => {
    const fields = { max_tokens: 3 };
    const answer = ask('/words 20', fields);
    assert.deepEqual([answer.text, answer.ending], ['word word word', 'length']);
    assert.equal(readWhole('/words 20', fields).usage?.completionTokens, 3);
  });

  test('counts reasoning towards the maximum', () => {
    const within = ask('/think 2 /words 20', { max_tokens: 3 });
    assert.deepEqual([within.thinking, within.text, within.ending], ['thought thought', 'word', 'length']);
    const beyond = ask('/think 5 /tool', { max_tokens: 3, tools });
    assert.deepEqual([beyond.thinking, beyond.call, beyond.ending], ['thought thought thought', undefined, 'length']);
  });

  test('may be empty', () => {
    assert.deepEqual([ask('/words 0').text, ask('/words 0').ending], ['', 'stop']);
    assert.equal(readWhole('/words 0').usage?.completionTokens, 1);
  });

  test('/tool calls the first tool', () => {
    const answer = ask('/tool', { tools });
    assert.deepEqual(answer.call, { name: 'look_up', args: '{}' });
    assert.deepEqual([answer.text, answer.ending], ['', 'tool_calls']);
    assert.match(ask('/tool').text, /^You said: \/tool/);
  });

  test('/call calls that tool with these arguments', () => {
    const answer = ask('/call read {"path":"a b.txt"}', { tools });
    assert.deepEqual(answer.call, { name: 'read', args: '{"path":"a b.txt"}' });
    assert.equal(answer.ending, 'tool_calls');
    assert.equal(ask('/call unknown {}', { tools }).call, undefined);
  });

  test('/think reasons first', () => {
    const answer = ask('/think let me see\n/words 2');
    assert.deepEqual([answer.thinking, answer.text], ['let me see', 'word word']);
    assert.equal(readWhole('/think 5 /words 2').usage?.completionTokens, 7);
    assert.deepEqual(ask('/think 1 /tool', { tools }).call, { name: 'look_up', args: '{}' });
  });

  test('/cache and /cache-write are parts of the same input', () => {
    const plain = readWhole('/cache 0 /cache-write 0').usage;
    const cached = readWhole('/cache 3 /cache-write 2').usage;
    assert.deepEqual([cached?.promptTokens, cached?.cachedTokens], [plain?.promptTokens, 3]);
    assert.equal(cached?.parts?.cacheWriteTokens, 2);
    const all = readWhole('/cache 999 /cache-write 999').usage;
    assert.deepEqual([all?.cachedTokens, all?.parts], [all?.promptTokens, undefined]);
  });

  test('/no-usage, /help and the waits', () => {
    assert.equal(readWhole('/no-usage').usage, undefined);
    const { text } = ask('/help');
    for (const [usage, meaning] of DIRECTIVES) assert.ok(text.includes(`${usage}: ${meaning}`));
    assert.equal(play('chat', '/delay 2s').delayMs, 2_000);
    assert.equal(play('chat', '/words 5 /pace 10ms').steps[0]?.afterMs, 50);
  });

  for (const [directive, ending] of [
    ['/cut 3', 'break'],
    ['/fail 3', 'break'],
    ['/stall 3', 'silence'],
  ] as const) {
    test(`${directive} ends in a ${ending} in the middle of its body`, () => {
      const { steps, text } = play('chat', directive);
      assert.equal(steps.at(-1)?.ending, ending);
      assert.throws(() => JSON.parse(text));
    });
  }
});

describe('a stream', () => {
  test('is an event stream that the gateway can read to its end', () => {
    const { contentType, text } = stream('/think 2 /words 3');
    assert.equal(contentType, 'text/event-stream');
    const { kinds, written, finished, usage } = factsOf(text);
    assert.equal(kinds.at(-1), 'end');
    assert.ok(kinds.slice(0, -1).every((kind) => kind === 'part'));
    assert.ok(finished);
    assert.equal(written, 'thought thoughtword word word');
    assert.deepEqual(usage, readWhole('/think 2 /words 3').usage);
  });

  test('waits between words', () => {
    const waits = (prompt: string, fields: Json = {}) => stream(prompt, fields).steps.map(({ afterMs }) => afterMs);
    assert.deepEqual(waits('/words 3 /pace 10ms'), [0, 0, 10, 10, 0]);
    assert.deepEqual(waits('/think 1 /words 1 /pace 10ms'), [0, 0, 10, 0]);
    assert.deepEqual(waits('/call read {"a": 1} /pace 10ms', { tools }), [0, 0, 10, 0]);
  });

  const STOPS: readonly (readonly [prompt: string, written: string, ending: Step['ending']])[] = [
    ['/words 9 /cut 3', 'word word word', 'break'],
    ['/words 9 /cut 0', '', 'break'],
    ['/words 2 /cut 2', 'word word', 'break'],
    ['/think 2 /words 9 /cut 1', 'thought', 'break'],
    ['/think 2 /words 9 /cut 3', 'thought thoughtword', 'break'],
    ['/words 9 /stall 2', 'word word', 'silence'],
  ];
  for (const [prompt, written, ending] of STOPS) {
    test(`${prompt} ends in a ${ending}, without an end`, () => {
      const { steps, text } = stream(prompt);
      const facts = factsOf(text);
      assert.equal(steps.at(-1)?.ending, ending);
      assert.deepEqual([facts.written, facts.finished, facts.kinds.includes('end')], [written, false, false]);
    });
  }

  test('/fail sends an error event after that many words, and nothing more', () => {
    const { steps, text } = stream('/think 1 /words 9 /fail 2');
    const { kinds, written } = factsOf(text);
    assert.equal(steps.at(-1)?.ending, undefined);
    assert.equal(written, 'thoughtword');
    assert.deepEqual([kinds.at(-1), kinds.includes('end')], ['error', false]);
  });

  test('/no-usage leaves the figures out', () => {
    assert.equal(factsOf(stream('/words 3 /no-usage').text).usage, undefined);
  });
});

for (const isStream of [false, true]) {
  test(`/error is an error response, ${isStream ? 'also to a stream' : 'not an answer'}`, () => {
    const { status, contentType, text } = play('chat', '/error 429', { stream: isStream });
    assert.deepEqual([status, contentType], [429, 'application/json']);
    assert.match(JSON.parse(text).error.message, /status 429/);
  });
}

test('what agents insert is not the prompt', () => {
  const reminder = '<system-reminder>\n/help\n</system-reminder>\n';
  const content = (text: string) => [{ type: 'text', text }];
  const message = (text: string) => ({ role: 'user', content: content(text) });
  const asked = (...texts: readonly string[]) => ask('', { messages: texts.map(message) }).text;
  assert.equal(asked(`${reminder}/words 2`), 'word word');
  assert.equal(asked('/words 2', reminder), 'word word');
  assert.match(asked('about </system-reminder> /words'), /^You said: about <\/system-reminder> \/words\n/);
  assert.match(asked(`<system-reminder> /words`), /^You said: <system-reminder> \/words\n/);
  assert.match(asked('/words 2', ''), /^You said: \(nothing\)/);
});
/** A stream, read back as the whole answer that it stands for. */
function readBack(text: string) {
  const pieces = eventsOf({ text }).map(({ data }) => deltaIn(data) as Json | undefined);
  const joined = (field: string) => pieces.map((piece) => piece?.[field] ?? '').join('');
  return { thinking: joined('reasoning_content'), text: joined('content'), args: pieces.map(argumentsIn).join('') };
}

const deltaIn = ({ choices }: Json) => (choices as Json[])[0]?.delta;
const argumentsIn = (delta: Json | undefined) =>
  ((delta?.tool_calls ?? []) as Json[]).map((call) => (call.function as Json).arguments).join('');

test('a stream says what the whole answer says', () => {
  const directive = fc.oneof(
    fc.constantFrom('/words 3', '/words 0', '/think 2', '/think so be it', '/no-usage', '/cache 2', '/help', '/tool'),
    fc.dictionary(fc.string(), fc.string()).map((value) => `/call read ${JSON.stringify(value)}`),
    fc.string(),
  );
  const prompts = fc.array(directive, { maxLength: 4 }).map((parts) => parts.join('\n'));
  fc.assert(
    fc.property(prompts, fc.integer({ min: 1, max: 60 }), (prompt, most) => {
      const fields = { tools: [functionTool('read')], max_tokens: most };
      const whole = answerTo('chat', prompt, fields);
      const { thinking, text, call } = said(whole);
      const streamed = play('chat', prompt, { ...fields, stream: true }).text;
      assert.deepEqual(readBack(streamed), { thinking, text, args: call?.args ?? '' });
      assert.deepEqual(factsOf(streamed).usage, DIALECTS.chat.readAnswer(whole).usage);
    }),
  );
});

test('fields of any type are taken in', () => {
  const odd = [null, 1, 'x', [], {}, [null], [[{}]], { type: 1 }, { text: 1 }, { content: {} }];
  fc.assert(
    fc.property(fc.constantFrom(...odd), fc.boolean(), (value, stream) => {
      const message = { role: 'user', content: [{ type: 'text', text: value }] };
      assert.equal(play('chat', '', { messages: [message], metadata: value, tool_choice: value, stream }).status, 200);
    }),
  );
});
