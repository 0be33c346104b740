/** The mock provider: what every directive does, the same in all dialects. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { NO_OUTPUT } from '../../../src/dialects/answer.ts';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { DIRECTIVES } from '../../../src/providers/mock/directives.ts';
import type { Step } from '../../../src/providers/mock/mock.ts';
import { SseSplitter } from '../../../src/wire/sse.ts';
import {
  answerTo,
  eventsOf,
  functionTool,
  type Json,
  jsonFormat,
  play,
  said,
  TEXT_DIALECTS,
  type TextDialect,
  toolChoice,
} from './mock-script.ts';

/** How answers end in each dialect: complete, at the maximum, with a call. */
const ENDINGS = {
  chat: ['stop', 'length', 'tool_calls'],
  messages: ['end_turn', 'max_tokens', 'tool_use'],
  responses: ['completed', 'incomplete', 'completed'],
} as const;

const MAXIMA = { chat: 'max_tokens', messages: 'max_tokens', responses: 'max_output_tokens' } as const;

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
function factsOf(dialect: TextDialect, text: string) {
  const reader = DIALECTS[dialect].startStream('req_1');
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

for (const dialect of TEXT_DIALECTS) {
  const tools = [functionTool(dialect, 'look_up'), functionTool(dialect, 'read')];
  const ask = (prompt: string, fields: Json = {}) => said(dialect, answerTo(dialect, prompt, fields));
  const stream = (prompt: string, fields: Json = {}) => play(dialect, prompt, { stream: true, ...fields });
  const readWhole = (prompt: string, fields: Json = {}) =>
    DIALECTS[dialect].readAnswer(answerTo(dialect, prompt, fields));
  const [complete, atMaximum, withCall] = ENDINGS[dialect];

  describe(`${dialect}: what a request demands`, () => {
    const text = (fields: Json, prompt = 'hi') => JSON.parse(ask(prompt, fields).text);

    test('is JSON of its schema, whole and in a stream', () => {
      assert.deepEqual(text(jsonFormat(dialect, SCHEMA)), { city: 'text', days: [1] });
      const pieces = factsOf(dialect, stream('hi', jsonFormat(dialect, SCHEMA)).text).written;
      assert.deepEqual(JSON.parse(pieces), { city: 'text', days: [1] });
    });

    test('is any JSON object, where a dialect has that', () => {
      if (dialect !== 'messages') assert.deepEqual(text(jsonFormat(dialect)), {});
    });

    test('is a call of any tool, or of the one that it names, with arguments that the tool takes', () => {
      const demanding = [functionTool(dialect, 'look_up'), functionTool(dialect, 'read', SCHEMA)];
      const call = (tool_choice: unknown, prompt = 'hi') => ask(prompt, { tools: demanding, tool_choice }).call;
      const args = JSON.stringify({ city: 'text', days: [1] });
      assert.deepEqual(call(toolChoice(dialect, 'any')), { name: 'look_up', args: '{}' });
      assert.deepEqual(call(toolChoice(dialect, 'read')), { name: 'read', args });
      assert.deepEqual(call(toolChoice(dialect, 'read'), '/call look_up {"a": 1}'), { name: 'read', args });
      assert.equal(call(toolChoice(dialect, 'none'), '/tool'), undefined);
      assert.equal(ask('hi', { tools: demanding }).call, undefined);
    });
  });

  describe(`${dialect}: a whole answer`, () => {
    test('repeats the prompt, and counts a word as a token', () => {
      const answer = ask('hello there');
      assert.match(answer.text, /^You said: hello there\n\(The mock provider received 1 message, 0 tools\./);
      assert.equal(answer.ending, complete);
      const { usage, choices, progress } = readWhole('/words 7');
      assert.equal(choices, 1);
      assert.deepEqual([usage?.completionTokens, usage?.cachedTokens], [7, 0]);
      assert.ok((usage?.promptTokens ?? 0) > 0);
      assert.deepEqual(progress, [
        { ...NO_OUTPUT, index: 0, finished: true, written: ['word word word word word word word'] },
      ]);
    });

    test('ends at the maximum of output, and says so', () => {
      const fields = { [MAXIMA[dialect]]: 3 };
      const answer = ask('/words 20', fields);
      assert.deepEqual([answer.text, answer.ending], ['word word word', atMaximum]);
      assert.equal(readWhole('/words 20', fields).usage?.completionTokens, 3);
    });

    test('counts reasoning towards the maximum', () => {
      const within = ask('/think 2 /words 20', { [MAXIMA[dialect]]: 3 });
      assert.deepEqual([within.thinking, within.text, within.ending], ['thought thought', 'word', atMaximum]);
      const beyond = ask('/think 5 /tool', { [MAXIMA[dialect]]: 3, tools });
      assert.deepEqual(
        [beyond.thinking, beyond.call, beyond.ending],
        ['thought thought thought', undefined, atMaximum],
      );
    });

    test('may be empty', () => {
      assert.deepEqual([ask('/words 0').text, ask('/words 0').ending], ['', complete]);
      assert.equal(readWhole('/words 0').usage?.completionTokens, 1);
    });

    test('/tool calls the first tool', () => {
      const answer = ask('/tool', { tools });
      assert.deepEqual(answer.call, { name: 'look_up', args: '{}' });
      assert.deepEqual([answer.text, answer.ending], ['', withCall]);
      assert.match(ask('/tool').text, /^You said: \/tool/);
    });

    test('/call calls that tool with these arguments', () => {
      const answer = ask('/call read {"path":"a b.txt"}', { tools });
      assert.deepEqual(answer.call, { name: 'read', args: '{"path":"a b.txt"}' });
      assert.equal(answer.ending, withCall);
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
      assert.equal(play(dialect, '/delay 2s').delayMs, 2_000);
      assert.equal(play(dialect, '/words 5 /pace 10ms').steps[0]?.afterMs, 50);
    });

    for (const [directive, ending] of [
      ['/cut 3', 'break'],
      ['/fail 3', 'break'],
      ['/stall 3', 'silence'],
    ] as const) {
      test(`${directive} ends in a ${ending} in the middle of its body`, () => {
        const { steps, text } = play(dialect, directive);
        assert.equal(steps.at(-1)?.ending, ending);
        assert.throws(() => JSON.parse(text));
      });
    }
  });

  describe(`${dialect}: a stream`, () => {
    test('is an event stream that the gateway can read to its end', () => {
      const { contentType, text } = stream('/think 2 /words 3');
      assert.equal(contentType, 'text/event-stream');
      const { kinds, written, finished, usage } = factsOf(dialect, text);
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
        const facts = factsOf(dialect, text);
        assert.equal(steps.at(-1)?.ending, ending);
        assert.deepEqual([facts.written, facts.finished, facts.kinds.includes('end')], [written, false, false]);
      });
    }

    test('/fail sends an error event after that many words, and nothing more', () => {
      const { steps, text } = stream('/think 1 /words 9 /fail 2');
      const { kinds, written } = factsOf(dialect, text);
      assert.equal(steps.at(-1)?.ending, undefined);
      assert.equal(written, 'thoughtword');
      assert.deepEqual([kinds.at(-1), kinds.includes('end')], ['error', false]);
    });

    test('/no-usage leaves the figures out', () => {
      assert.equal(factsOf(dialect, stream('/words 3 /no-usage').text).usage, undefined);
    });
  });

  for (const isStream of [false, true]) {
    test(`${dialect}: /error is an error response, ${isStream ? 'also to a stream' : 'not an answer'}`, () => {
      const { status, contentType, text } = play(dialect, '/error 429', { stream: isStream });
      assert.deepEqual([status, contentType], [429, 'application/json']);
      assert.match(JSON.parse(text).error.message, /status 429/);
    });
  }

  test(`${dialect}: what agents insert is not the prompt`, () => {
    const reminder = '<system-reminder>\n/help\n</system-reminder>\n';
    const content = (text: string) => [{ type: dialect === 'responses' ? 'input_text' : 'text', text }];
    const message = (text: string) => ({ role: 'user', content: content(text) });
    const list = dialect === 'responses' ? 'input' : 'messages';
    const asked = (...texts: readonly string[]) => ask('', { [list]: texts.map(message) }).text;
    assert.equal(asked(`${reminder}/words 2`), 'word word');
    assert.equal(asked('/words 2', reminder), 'word word');
    assert.match(asked('about </system-reminder> /words'), /^You said: about <\/system-reminder> \/words\n/);
    assert.match(asked(`<system-reminder> /words`), /^You said: <system-reminder> \/words\n/);
    assert.match(asked('/words 2', ''), /^You said: \(nothing\)/);
  });
}

/** A stream, read back as the whole answer that it stands for. */
function readBack(dialect: TextDialect, text: string) {
  const events = eventsOf({ text }).map(({ data }) => data);
  const deltas = (type: string, field: string) =>
    events
      .filter((event) => event.type === type)
      .map((event) => String(event[field]))
      .join('');
  if (dialect === 'responses') {
    return {
      thinking: deltas('response.reasoning_summary_text.delta', 'delta'),
      text: deltas('response.output_text.delta', 'delta'),
      args: deltas('response.function_call_arguments.delta', 'delta'),
    };
  }
  const pieces = events.map((event) => (dialect === 'messages' ? event.delta : deltaIn(event)) as Json | undefined);
  const joined = (field: string) => pieces.map((piece) => piece?.[field] ?? '').join('');
  return dialect === 'messages'
    ? { thinking: joined('thinking'), text: joined('text'), args: joined('partial_json') }
    : { thinking: joined('reasoning_content'), text: joined('content'), args: pieces.map(argumentsIn).join('') };
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
    fc.property(
      fc.constantFrom(...TEXT_DIALECTS),
      prompts,
      fc.integer({ min: 1, max: 60 }),
      (dialect, prompt, most) => {
        const fields = { tools: [functionTool(dialect, 'read')], [MAXIMA[dialect]]: most };
        const whole = answerTo(dialect, prompt, fields);
        const { thinking, text, call } = said(dialect, whole);
        const streamed = play(dialect, prompt, { ...fields, stream: true }).text;
        const read = readBack(dialect, streamed);
        const args = dialect === 'messages' && read.args !== '' ? JSON.stringify(JSON.parse(read.args)) : read.args;
        assert.deepEqual({ ...read, args }, { thinking, text, args: call?.args ?? '' });
        assert.deepEqual(factsOf(dialect, streamed).usage, DIALECTS[dialect].readAnswer(whole).usage);
      },
    ),
  );
});

test('every dialect takes in what it does not know', () => {
  const odd = [null, 1, 'x', [], {}, [null], [[{}]], { type: 1 }, { text: 1 }, { content: {} }];
  fc.assert(
    fc.property(fc.constantFrom(...TEXT_DIALECTS), fc.constantFrom(...odd), fc.boolean(), (dialect, value, stream) => {
      const message = {
        role: 'user',
        content: [
          { type: 'text', text: value },
          { type: 'tool_result', content: value },
        ],
      };
      const list = dialect === 'responses' ? 'input' : 'messages';
      const odds = { metadata: value, include: value, reasoning: value, text: value, tool_choice: value };
      assert.equal(play(dialect, '', { [list]: [message], ...odds, stream }).status, 200);
    }),
  );
});
