/** Streams of any host, translated and read back, against the same answer translated as a whole. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { runs } from '../../support/at-length.ts';
import { CONTEXT } from './hosted.ts';
import { chunk, finish, piece, START, streamOf, USAGE, USAGE_CHUNK } from './messages-chat-chunks.ts';
import { eventsIn, messageIn, responseTo } from './messages-chat-support.ts';

const ARGUMENTS = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })).map((value) => JSON.stringify(value));

/** A text in pieces, none of them empty but for an empty text. */
function inPieces(text: fc.Arbitrary<string>): fc.Arbitrary<readonly string[]> {
  return fc.tuple(text, fc.array(fc.nat(40), { maxLength: 4 })).map(([whole, cuts]) => {
    const places = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).toSorted((a, b) => a - b), whole.length];
    return places.slice(1).map((end, index) => whole.slice(places[index], end));
  });
}

/** What a host sends of one thing, in order. */
interface Strand {
  readonly deltas: readonly Fields[];
}

function strands(
  thinking: readonly string[],
  text: readonly string[],
  calls: readonly (readonly string[])[],
): Strand[] {
  return [
    { deltas: thinking.map((reasoning_content) => ({ reasoning_content })) },
    { deltas: text.map((content) => ({ content })) },
    ...calls.map((pieces, index) => ({
      deltas: pieces.map((args, at) => ({
        tool_calls: [piece(index, args, at === 0 ? { id: `call_${index}`, name: `tool_${index}` } : {})],
      })),
    })),
  ];
}

/** Deals the deltas of all strands: each number chooses the next one among the strands that are left. */
function dealt(list: readonly Strand[], choices: readonly number[]): readonly Fields[] {
  const left = list.map(({ deltas }) => [...deltas]).filter((deltas) => deltas.length > 0);
  const result: Fields[] = [];
  for (let at = 0; left.length > 0; at++) {
    const chosen = (choices[at % choices.length] ?? 0) % left.length;
    const delta = left[chosen]?.shift();
    if (delta !== undefined) result.push(delta);
    if (left[chosen]?.length === 0) left.splice(chosen, 1);
  }
  return result;
}

/** The content, with all text in one block and all thinking in one, and calls in the order of their names. */
function gathered(message: Fields): Fields {
  const blocks = message.content as readonly Fields[];
  const all = (field: string) => blocks.map((block) => block[field] ?? '').join('');
  const calls = blocks.filter(({ type }) => type === 'tool_use');
  const { content: _, ...others } = message;
  return {
    ...others,
    text: all('text'),
    thinking: all('thinking'),
    calls: calls.toSorted((a, b) => (String(a.name) < String(b.name) ? -1 : 1)),
  };
}

test('a translated stream says what the translated answer says, however a host deals it out', () => {
  const cases = fc.record({
    thinking: inPieces(fc.string()),
    text: inPieces(fc.string({ unit: 'grapheme' })),
    calls: fc.array(inPieces(ARGUMENTS), { maxLength: 4 }),
    choices: fc.array(fc.nat(7), { minLength: 1, maxLength: 20 }),
    reason: fc.constantFrom('stop', 'tool_calls', 'length', 'content_filter'),
    place: fc.constantFrom('finish', 'own', 'none'),
  });
  fc.assert(
    fc.property(cases, ({ thinking, text, calls, choices, reason, place }) => {
      const deltas = dealt(strands(thinking, text, calls), choices).map((delta) => chunk(delta));
      const end = finish(reason, place === 'finish' ? { usage: USAGE } : {});
      const streamed = messageIn(streamOf([START, ...deltas, end, ...(place === 'own' ? [USAGE_CHUNK] : [])]));
      const message = {
        content: text.join(''),
        reasoning_content: thinking.join(''),
        tool_calls: calls.map((pieces, index) => ({
          id: `call_${index}`,
          ...piece(index, pieces.join(''), { name: `tool_${index}` }),
        })),
      };
      const whole = {
        model: 'gpt',
        choices: [{ message, finish_reason: reason }],
        ...(place !== 'none' && { usage: USAGE }),
      };
      assert.deepEqual(gathered(streamed), gathered(responseTo().answer(whole, CONTEXT)));
    }),
    { numRuns: runs(200) },
  );
});

test('no chunk is too strange for a stream', () => {
  const names = ['index', 'id', 'function', 'name', 'arguments', 'content', 'reasoning', 'refusal', 'tool_calls'];
  const value = fc.constantFrom<unknown>(null, true, -1, '', 'x', [], {}, [null], ['x'], [{ text: 1 }], '{"a":');
  const part = fc.dictionary(fc.constantFrom(...names), value);
  const delta = fc.dictionary(fc.constantFrom(...names), fc.oneof(value, part, fc.array(part)));
  const choice = fc.record({ delta: fc.oneof(delta, value), finish_reason: value }, { requiredKeys: [] });
  const strange = fc.record(
    { choices: fc.oneof(fc.array(choice), value), usage: value, model: value },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.array(strange), (chunks) => {
      const events = eventsIn(streamOf(chunks));
      assert.deepEqual([events[0]?.type, events.at(-1)?.type], ['message_start', 'message_stop']);
      for (const each of chunks) responseTo().answer(each, CONTEXT);
    }),
    { numRuns: runs(100) },
  );
});
