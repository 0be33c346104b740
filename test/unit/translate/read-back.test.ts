/** Any stream of a host is, for clients of chat and of responses, the answer that is not streamed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { thinkingBlock } from '../../../src/translate/responses/thinking.ts';
import { DONE_EVENT } from '../../../src/wire/sse.ts';
import { runs } from '../../support/at-length.ts';
import { CONTEXT, chunksIn, readBack, STREAM, streamed as streamedAsChat, translated } from './chat-messages.ts';
import { answerOf, blockStart, delta, end, MESSAGE_STOP, PING, start, stop } from './messages-host.ts';
import { type Host, responseIn, responseTo, streamed, TOOLS } from './responses-support.ts';

/** The same as JSON makes it: with the usual prototype, and without a negative zero. */
function asParsed(value: unknown): Fields {
  return JSON.parse(JSON.stringify(value)) as Fields;
}

const ANY_TEXT = fc.string({ unit: 'grapheme', maxLength: 12 });
/** What hosts of messages write beside calls. */
const ANY_BLOCK: fc.Arbitrary<Fields> = fc.oneof(
  fc.record({ type: fc.constant('text'), text: ANY_TEXT }).map(asParsed),
  fc.record({ type: fc.constant('thinking'), thinking: ANY_TEXT, signature: ANY_TEXT }).map(asParsed),
  fc.record({ type: fc.constant('redacted_thinking'), data: ANY_TEXT }).map(asParsed),
);
const ANY_ARGUMENTS = fc.dictionary(ANY_TEXT, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }).map(asParsed);
/** A call: the name of its tool at the host, and its arguments. `custom`: a tool that takes a text. */
const anyCall = (functions: readonly string[], custom: string) =>
  fc.oneof(
    fc.tuple(fc.constantFrom(...functions), ANY_ARGUMENTS),
    fc.tuple(fc.constant(custom), fc.record({ input: ANY_TEXT }).map(asParsed)),
  );
const anyContent = (call: ReturnType<typeof anyCall>) =>
  fc.uniqueArray(
    fc.oneof(
      { arbitrary: ANY_BLOCK, weight: 3 },
      {
        arbitrary: fc
          .tuple(fc.uuid(), call)
          .map(([id, [name, input]]): Fields => ({ type: 'tool_use', id, name, input })),
        weight: 2,
      },
    ),
    { maxLength: 6, selector: (block) => block.id ?? {} },
  );
/** How a host streams: the lengths of pieces. */
const ANY_LENGTHS = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 });

const ANY_COUNT = fc.nat({ max: 1e6 });
const ANY_ANSWER = fc.record({
  content: anyContent(anyCall(['f'], 'c')),
  stop_reason: fc.constantFrom('end_turn', 'tool_use', 'max_tokens', 'refusal'),
  usage: fc.record({
    input_tokens: ANY_COUNT,
    cache_read_input_tokens: fc.option(ANY_COUNT),
    cache_creation_input_tokens: fc.option(ANY_COUNT),
    output_tokens: ANY_COUNT,
    output_tokens_details: fc.option(fc.record({ thinking_tokens: ANY_COUNT })),
    service_tier: fc.constantFrom('standard', 'priority', 'batch'),
  }),
});
/** How a host streams: the lengths of pieces, and what it adds or leaves out. */
const ANY_MANNER = fc.record({
  lengths: ANY_LENGTHS,
  noise: fc.boolean(),
  hasStops: fc.boolean(),
});

function pieces(text: string, lengths: readonly number[]): string[] {
  const result: string[] = [];
  for (let at = 0, i = 0; at < text.length; i++) {
    const length = lengths[i % lengths.length] as number;
    result.push(text.slice(at, at + length));
    at += length;
  }
  return result;
}

function eventsOfBlock(block: Fields, index: number, lengths: readonly number[]): Fields[] {
  const deltas = (text: unknown, type: string, field: string) =>
    pieces(String(text), lengths).map((piece) => delta(index, { type, [field]: piece }));
  switch (block.type) {
    case 'text':
      return [blockStart(index, { type: 'text', text: '' }), ...deltas(block.text, 'text_delta', 'text')];
    case 'thinking':
      return [
        blockStart(index, { type: 'thinking', thinking: '', signature: '' }),
        ...deltas(block.thinking, 'thinking_delta', 'thinking'),
        ...deltas(block.signature, 'signature_delta', 'signature'),
      ];
    case 'tool_use': {
      const isEmpty = Object.keys(block.input as Fields).length === 0;
      const text = isEmpty ? '' : JSON.stringify(block.input);
      return [blockStart(index, { ...block, input: {} }), ...deltas(text, 'input_json_delta', 'partial_json')];
    }
    default:
      return [blockStart(index, block)];
  }
}

function eventsOf(
  answer: Fields,
  { lengths, noise, hasStops }: { lengths: number[]; noise: boolean; hasStops: boolean },
) {
  const { usage, stop_reason: reason, content } = answer as { usage: Fields; stop_reason: string; content: Fields[] };
  const { output_tokens: output, output_tokens_details: details, ...input } = usage;
  const blocks = content.flatMap((block, index) => [
    ...eventsOfBlock(block, index, lengths),
    ...(hasStops ? [stop(index)] : []),
  ]);
  const opening = start({ content: [], usage: { ...input, output_tokens: 1 } });
  const events = [
    opening,
    ...(noise ? [opening] : []),
    ...blocks,
    end(reason, { output_tokens: output, output_tokens_details: details, input_tokens: null }),
    MESSAGE_STOP,
  ];
  return noise ? events.flatMap((event) => [event, PING, { type: 'new_event' }]) : events;
}

test('for a client of chat a messages stream, read back, is the answer that is not streamed', () => {
  fc.assert(
    fc.property(ANY_ANSWER, ANY_MANNER, (fields, manner) => {
      const answer = answerOf(fields);
      const stream = streamedAsChat(eventsOf(answer, manner));
      const whole = translated(STREAM).response.answer(answer, CONTEXT);
      const [choice] = whole.choices as { message: Fields; finish_reason: string }[];
      const { message, finishReasons, usage } = readBack(stream);
      const { content, refusal, ...others } = choice?.message ?? {};
      assert.equal(refusal, null);
      assert.deepEqual(withParsedArguments(message), withParsedArguments({ content: content ?? '', ...others }));
      assert.deepEqual(finishReasons, [choice?.finish_reason]);
      assert.deepEqual(usage, whole.usage ?? null);
      assert.equal(chunksIn(stream).at(-1)?.service_tier, whole.service_tier);
      assert.ok(stream.endsWith(DONE_EVENT));
    }),
    { numRuns: 150 },
  );
});

/** Arguments compare by their value: a host streams them with any white space. */
function withParsedArguments(message: Fields): Fields {
  const calls = message.tool_calls as { function?: { arguments: string } }[] | undefined;
  if (calls === undefined) return message;
  const parsed = calls.map((call) =>
    call.function === undefined
      ? call
      : { ...call, arguments: JSON.parse(call.function.arguments), function: undefined },
  );
  return { ...message, tool_calls: parsed };
}

/** What the output says, as the host has said it. */
function saidIn({ output, status, incomplete_details: details, usage }: Fields): Fields {
  const calls = (output as Fields[]).filter((item) => item.call_id !== undefined);
  const texts = (type: string) =>
    (output as Fields[])
      .filter((item) => item.type === type)
      .flatMap((item) => (item.content ?? item.summary) as Fields[])
      .map((part) => part.text ?? part.refusal)
      .join('');
  return {
    text: texts('message'),
    reasoning: texts('reasoning'),
    calls: calls.map(({ call_id: id, name, namespace, arguments: json, input }) => ({
      id,
      name: namespace === undefined ? name : `${namespace}__${name}`,
      arguments: input === undefined ? JSON.parse(json as string) : { input },
    })),
    status,
    details,
    usage,
  };
}

function assertSame(host: Host, events: readonly Fields[], answer: Fields, said: Fields): void {
  const read = responseIn(streamed(host, events, { tools: TOOLS }));
  assert.deepEqual(read, responseTo(host, { tools: TOOLS }).answer(answer, CONTEXT));
  assert.deepEqual(saidIn(read), said);
}

function endOf(isCut: boolean): Fields {
  return isCut
    ? { status: 'incomplete', details: { reason: 'max_output_tokens' } }
    : { status: 'completed', details: null };
}

const OF_RESPONSES = anyCall(['look', 'agents__spawn'], 'patch');
const ANY_COMPLETION = fc.record({
  reasoning: ANY_TEXT,
  text: ANY_TEXT,
  calls: fc.array(OF_RESPONSES, { maxLength: 3 }),
  isCut: fc.boolean(),
  counts: fc.tuple(ANY_COUNT, ANY_COUNT, ANY_COUNT),
});

test('for a client of responses a chat stream says what the completion says', () => {
  fc.assert(
    fc.property(ANY_COMPLETION, ANY_LENGTHS, ({ reasoning, text, calls, isCut, counts }, lengths) => {
      const [cached, input, output] = counts;
      const usage = {
        prompt_tokens: cached + input,
        completion_tokens: output,
        prompt_tokens_details: { cached_tokens: cached },
        completion_tokens_details: { reasoning_tokens: Math.floor(output / 2) },
      };
      const chunk = (delta: Fields, reason: string | null = null) => ({ choices: [{ delta, finish_reason: reason }] });
      const toolCalls = calls.map(([name, given], index) => ({
        index,
        id: `c${index}`,
        function: { name, arguments: JSON.stringify(given) },
      }));
      const events = [
        ...pieces(reasoning, lengths).map((each) => chunk({ reasoning_content: each })),
        ...pieces(text, lengths).map((each) => chunk({ content: each })),
        ...toolCalls.flatMap(({ function: { name, arguments: json }, index, ...call }) => [
          chunk({ tool_calls: [{ index, ...call, function: { name, arguments: '' } }] }),
          ...pieces(json, lengths).map((each) => chunk({ tool_calls: [{ index, function: { arguments: each } }] })),
        ]),
        chunk({}, isCut ? 'length' : 'stop'),
        { choices: [], usage },
      ];
      const message = { reasoning_content: reasoning, content: text, tool_calls: toolCalls };
      const answer = { choices: [{ message, finish_reason: isCut ? 'length' : 'stop' }], usage };
      assertSame('chat', events, answer, {
        text,
        reasoning,
        calls: calls.map(([name, given], index) => ({ id: `c${index}`, name, arguments: given })),
        ...endOf(isCut),
        usage:
          cached + input + output === 0
            ? null
            : {
                input_tokens: cached + input,
                input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
                output_tokens: output,
                output_tokens_details: { reasoning_tokens: Math.floor(output / 2) },
                total_tokens: cached + input + output,
              },
      });
    }),
    { numRuns: runs(100) },
  );
});

test('for a client of responses a messages stream says what the message says, and its thinking can be given back', () => {
  fc.assert(
    fc.property(
      anyContent(OF_RESPONSES),
      fc.boolean(),
      fc.tuple(ANY_COUNT, ANY_COUNT, ANY_COUNT),
      ANY_LENGTHS,
      (content, isCut, [cached, input, output], lengths) => {
        const usage = { input_tokens: input + 1, cache_read_input_tokens: cached, output_tokens: output };
        const ending = { stop_reason: isCut ? 'max_tokens' : 'end_turn' };
        const events = [
          { type: 'message_start', message: { content: [], usage: { ...usage, output_tokens: 1 } } },
          ...content.flatMap((block, index) => [...eventsOfBlock(block, index, lengths), stop(index)]),
          { type: 'message_delta', delta: ending, usage: { output_tokens: output } },
          { type: 'message_stop' },
        ];
        const joined = (name: string) => content.map((block) => block[name] ?? '').join('');
        assertSame(
          'messages',
          events,
          { type: 'message', content, usage, ...ending },
          {
            text: joined('text'),
            reasoning: joined('thinking'),
            calls: content
              .filter(({ type }) => type === 'tool_use')
              .map(({ id, name, input: given }) => ({ id, name, arguments: given })),
            ...endOf(isCut),
            usage: {
              input_tokens: cached + input + 1,
              input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
              output_tokens: output,
              output_tokens_details: { reasoning_tokens: 0 },
              total_tokens: cached + input + 1 + output,
            },
          },
        );
        const items = responseTo('messages').answer({ content, ...ending }, CONTEXT).output as Fields[];
        assert.deepEqual(
          items.filter(({ type }) => type === 'reasoning').map((item) => thinkingBlock(item.encrypted_content)),
          content.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking'),
        );
      },
    ),
    { numRuns: runs(100) },
  );
});
