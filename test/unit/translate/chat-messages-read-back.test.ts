/** Any stream of a host of the messages dialect is, for a client of the chat dialect, the answer that is not streamed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { DONE_EVENT } from '../../../src/wire/sse.ts';
import {
  answerOf,
  blockStart,
  CONTEXT,
  chunksIn,
  delta,
  end,
  MESSAGE_STOP,
  PING,
  readBack,
  STREAM,
  start,
  stop,
  streamed,
  translated,
} from './chat-messages.ts';

const ANY_TEXT = fc.string({ unit: 'grapheme', maxLength: 12 });
const ANY_BLOCK: fc.Arbitrary<Fields> = fc.oneof(
  fc.record({ type: fc.constant('text'), text: ANY_TEXT }),
  fc.record({ type: fc.constant('thinking'), thinking: ANY_TEXT, signature: ANY_TEXT }),
  fc.record({ type: fc.constant('redacted_thinking'), data: ANY_TEXT }),
  fc.record({
    type: fc.constant('tool_use'),
    id: fc.uuid(),
    name: fc.constant('f'),
    input: fc.dictionary(ANY_TEXT, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
  }),
  fc.record({
    type: fc.constant('tool_use'),
    id: fc.uuid(),
    name: fc.constant('c'),
    input: fc.record({ input: ANY_TEXT }),
  }),
);
const ANY_COUNT = fc.option(fc.nat({ max: 1e6 }));
const ANY_ANSWER = fc.record({
  content: fc.array(ANY_BLOCK, { maxLength: 6 }),
  stop_reason: fc.constantFrom('end_turn', 'tool_use', 'max_tokens', 'refusal'),
  usage: fc.record({
    input_tokens: fc.nat({ max: 1e6 }),
    cache_read_input_tokens: ANY_COUNT,
    cache_creation_input_tokens: ANY_COUNT,
    output_tokens: fc.nat({ max: 1e6 }),
    output_tokens_details: fc.option(fc.record({ thinking_tokens: fc.nat({ max: 1e6 }) })),
    service_tier: fc.constantFrom('standard', 'priority', 'batch'),
  }),
});
/** How a host streams: the lengths of pieces, and what it adds or leaves out. */
const ANY_MANNER = fc.record({
  lengths: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
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

test('a stream, read back, is the answer that is not streamed', () => {
  fc.assert(
    fc.property(ANY_ANSWER, ANY_MANNER, (fields, manner) => {
      const answer = answerOf(fields);
      const stream = streamed(eventsOf(answer, manner));
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
