/** Any stream of a host is, for a client of responses, the answer that is not streamed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { thinkingBlock } from '../../../src/translate/responses/thinking.ts';
import { runs } from '../../support/at-length.ts';
import { CONTEXT, type Host, responseIn, responseTo, streamed, TOOLS } from './responses-support.ts';

/** The same as JSON makes it: with the usual prototype, and without a negative zero. */
function asParsed(value: unknown): Fields {
  return JSON.parse(JSON.stringify(value)) as Fields;
}

const ANY_TEXT = fc.string({ unit: 'grapheme', maxLength: 12 });
const ANY_ARGUMENTS = fc.dictionary(ANY_TEXT, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }).map(asParsed);
/** A call: the name of its tool at the host, and its arguments. */
const ANY_CALL = fc.oneof(
  fc.tuple(fc.constantFrom('look', 'agents__spawn'), ANY_ARGUMENTS),
  fc.tuple(fc.constant('patch'), fc.record({ input: ANY_TEXT }).map(asParsed)),
);
const ANY_COUNT = fc.nat({ max: 1e6 });
/** How a host streams: the lengths of pieces. */
const ANY_LENGTHS = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 });

function pieces(text: string, lengths: readonly number[]): string[] {
  const result: string[] = [];
  for (let at = 0, i = 0; at < text.length; i++) {
    const length = lengths[i % lengths.length] as number;
    result.push(text.slice(at, at + length));
    at += length;
  }
  return result;
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

const ANY_COMPLETION = fc.record({
  reasoning: ANY_TEXT,
  text: ANY_TEXT,
  calls: fc.array(ANY_CALL, { maxLength: 3 }),
  isCut: fc.boolean(),
  counts: fc.tuple(ANY_COUNT, ANY_COUNT, ANY_COUNT),
});

test('a chat stream says what the completion says', () => {
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

const ANY_BLOCK: fc.Arbitrary<Fields> = fc.oneof(
  fc.record({ type: fc.constant('text'), text: ANY_TEXT }).map(asParsed),
  fc.record({ type: fc.constant('thinking'), thinking: ANY_TEXT, signature: ANY_TEXT }).map(asParsed),
  fc.record({ type: fc.constant('redacted_thinking'), data: ANY_TEXT }).map(asParsed),
  fc.tuple(fc.uuid(), ANY_CALL).map(([id, [name, input]]): Fields => ({ type: 'tool_use', id, name, input })),
);

function eventsOf(block: Fields, index: number, lengths: readonly number[]): Fields[] {
  const begun = { text: '', thinking: '', signature: '', input: {} };
  const start = Object.fromEntries(
    Object.entries(block).map(([name, value]) => [name, name in begun ? begun[name as keyof typeof begun] : value]),
  );
  const deltas = (type: string, field: string, value: unknown) =>
    pieces(String(value), lengths).map((piece) => ({
      type: 'content_block_delta',
      index,
      delta: { type, [field]: piece },
    }));
  return [
    { type: 'content_block_start', index, content_block: start },
    ...('text' in block ? deltas('text_delta', 'text', block.text) : []),
    ...('thinking' in block ? deltas('thinking_delta', 'thinking', block.thinking) : []),
    ...('signature' in block ? deltas('signature_delta', 'signature', block.signature) : []),
    ...('input' in block ? deltas('input_json_delta', 'partial_json', JSON.stringify(block.input)) : []),
    { type: 'content_block_stop', index },
  ];
}

test('a messages stream says what the message says, and its thinking can be given back', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(ANY_BLOCK, { maxLength: 6, selector: (block) => block.id ?? {} }),
      fc.boolean(),
      fc.tuple(ANY_COUNT, ANY_COUNT, ANY_COUNT),
      ANY_LENGTHS,
      (content, isCut, [cached, input, output], lengths) => {
        const usage = { input_tokens: input + 1, cache_read_input_tokens: cached, output_tokens: output };
        const stop = { stop_reason: isCut ? 'max_tokens' : 'end_turn' };
        const events = [
          { type: 'message_start', message: { content: [], usage: { ...usage, output_tokens: 1 } } },
          ...content.flatMap((block, index) => eventsOf(block, index, lengths)),
          { type: 'message_delta', delta: stop, usage: { output_tokens: output } },
          { type: 'message_stop' },
        ];
        const joined = (name: string) => content.map((block) => block[name] ?? '').join('');
        assertSame(
          'messages',
          events,
          { type: 'message', content, usage, ...stop },
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
        const items = responseTo('messages').answer({ content, ...stop }, CONTEXT).output as Fields[];
        assert.deepEqual(
          items.filter(({ type }) => type === 'reasoning').map((item) => thinkingBlock(item.encrypted_content)),
          content.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking'),
        );
      },
    ),
    { numRuns: runs(100) },
  );
});
