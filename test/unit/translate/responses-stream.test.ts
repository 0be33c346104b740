/** Streams of hosts of both dialects, event by event, as clients of responses read them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { encryptedContent } from '../../../src/translate/responses/thinking.ts';
import { MODEL } from './hosted.ts';
import { THINKING, WHOLE } from './responses-hosts.ts';
import { CONTEXT, eventsIn, type Host, responseIn, responseTo, streamed, TOOLS } from './responses-support.ts';

const SEAL: Readonly<Record<Host, Fields>> = {
  chat: { encrypted_content: 'chat.reasoning_content' },
  messages: { encrypted_content: encryptedContent(THINKING) },
};

/** What both streams become: the type of each event, with what it holds of its own. */
function expected(host: Host): readonly (readonly [type: string, fields: Fields])[] {
  const [rs, msg, fc1, ctc, fc2] = ['rs_1_0', 'msg_1_1', 'fc_1_2', 'ctc_1_3', 'fc_1_4'];
  const summary = { type: 'summary_text', text: 'Hm.' };
  const part = { type: 'output_text', text: 'I look.', annotations: [], logprobs: [] };
  const thought = { id: rs, type: 'reasoning', status: 'completed', summary: [summary], ...SEAL[host] };
  const message = { id: msg, type: 'message', status: 'completed', role: 'assistant', content: [part] };
  const look = {
    id: fc1,
    type: 'function_call',
    status: 'completed',
    call_id: 'c1',
    name: 'look',
    arguments: '{"a":1}',
  };
  const patch = {
    id: ctc,
    type: 'custom_tool_call',
    status: 'completed',
    call_id: 'c2',
    name: 'patch',
    input: 'a \nä',
  };
  const spawn = { ...look, id: fc2, call_id: 'c3', name: 'spawn', namespace: 'agents', arguments: '{}' };
  const begun = (item: Fields, more: Fields) => ({ item: { ...item, status: 'in_progress', ...more } });
  const { encrypted_content: _, ...unsealed } = thought as Fields;
  const done = (index: number, item: Fields) => ['response.output_item.done', { output_index: index, item }] as const;
  const at = (index: number, id: string | undefined, more: Fields) => ({ output_index: index, item_id: id, ...more });
  const lookEnd = [
    ['response.function_call_arguments.done', at(2, fc1, { name: 'look', arguments: '{"a":1}' })],
    done(2, look),
  ] as const;
  const patchEnd = [['response.custom_tool_call_input.done', at(3, ctc, { input: 'a \nä' })], done(3, patch)] as const;
  const spawnStart = [['response.output_item.added', { output_index: 4, ...begun(spawn, { arguments: '' }) }]] as const;
  const spawnWritten = ['response.function_call_arguments.delta', at(4, fc2, { delta: '{}' })] as const;
  const spawnEnd = [
    ['response.function_call_arguments.done', at(4, fc2, { name: 'spawn', arguments: '{}' })],
    done(4, spawn),
  ] as const;
  const patchStart = [
    ['response.output_item.added', { output_index: 3, ...begun(patch, { input: '' }) }],
    ['response.custom_tool_call_input.delta', at(3, ctc, { delta: 'a ' })],
    ['response.custom_tool_call_input.delta', at(3, ctc, { delta: '\nä' })],
  ] as const;
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15,
  };
  const response = { status: 'completed', output: [thought, message, look, patch, spawn], usage };
  return [
    ['response.created', { response: { status: 'in_progress', output: [], usage: null } }],
    ['response.in_progress', { response: { status: 'in_progress', output: [], usage: null } }],
    ['response.output_item.added', { output_index: 0, ...begun(unsealed, { summary: [] }) }],
    ['response.reasoning_summary_part.added', at(0, rs, { summary_index: 0, part: { ...summary, text: '' } })],
    ['response.reasoning_summary_text.delta', at(0, rs, { summary_index: 0, delta: 'H' })],
    ['response.reasoning_summary_text.delta', at(0, rs, { summary_index: 0, delta: 'm.' })],
    ['response.reasoning_summary_text.done', at(0, rs, { summary_index: 0, text: 'Hm.' })],
    ['response.reasoning_summary_part.done', at(0, rs, { summary_index: 0, part: summary })],
    done(0, thought),
    ['response.output_item.added', { output_index: 1, ...begun(message, { content: [] }) }],
    ['response.content_part.added', at(1, msg, { content_index: 0, part: { ...part, text: '' } })],
    ['response.output_text.delta', at(1, msg, { content_index: 0, delta: 'I ', logprobs: [] })],
    ['response.output_text.delta', at(1, msg, { content_index: 0, delta: 'look.', logprobs: [] })],
    ['response.output_text.done', at(1, msg, { content_index: 0, text: 'I look.', logprobs: [] })],
    ['response.content_part.done', at(1, msg, { content_index: 0, part })],
    done(1, message),
    ['response.output_item.added', { output_index: 2, ...begun(look, { arguments: '' }) }],
    ['response.function_call_arguments.delta', at(2, fc1, { delta: '{"a"' })],
    ['response.function_call_arguments.delta', at(2, fc1, { delta: ':1}' })],
    // At a chat host calls may be written side by side.
    ...(host === 'chat'
      ? [...patchStart, ...spawnStart, ...lookEnd, ...patchEnd, spawnWritten, ...spawnEnd]
      : [...lookEnd, ...patchStart, ...patchEnd, ...spawnStart, spawnWritten, ...spawnEnd]),
    ['response.completed', { response }],
  ];
}

/** The fields of an event that its expectation has. */
function shown(event: Fields, like: Fields): Fields {
  const { response, ...rest } = event;
  if (like.response === undefined) return event;
  const names = Object.keys(like.response as Fields);
  return { ...rest, response: Object.fromEntries(names.map((name) => [name, (response as Fields)[name]])) };
}

for (const host of ['chat', 'messages'] as const) {
  describe(`a stream of a ${host} host`, () => {
    const events = eventsIn(streamed(host, WHOLE[host], { tools: TOOLS }));

    test('becomes these events', () => {
      const wanted = expected(host);
      assert.deepEqual(
        events.map((event, index) => shown(event, wanted[index]?.[1] ?? {})),
        wanted.map(([type, fields], index) => ({ type, sequence_number: index, ...fields })),
      );
    });

    test('can fail after every event of the host', () => {
      for (let length = 0; length <= WHOLE[host].length; length++) {
        const stream = responseTo(host, { tools: TOOLS }).stream(CONTEXT);
        const before = WHOLE[host].slice(0, length).map((event) => stream.push(event));
        const failed = eventsIn(before.join('') + stream.failure({ code: 'upstream_error', message: 'Broken.' }));
        const written = Math.max(2, eventsIn(before.join('')).length);
        assert.deepEqual(failed.slice(0, -1), events.slice(0, written));
        const { type, response } = failed.at(-1) as { type: string; response: Fields };
        const { id, model, status, error } = response;
        assert.deepEqual(
          [type, id, model, status, error],
          ['response.failed', 'resp_1', MODEL, 'failed', { code: 'upstream_error', message: 'Broken.' }],
        );
        const added = failed.filter((event) => event.type === 'response.output_item.added');
        assert.equal((response.output as Fields[]).length, added.length);
        assert.ok((response.output as Fields[]).every((item) => item.status !== 'in_progress'));
      }
    });

    test('can end after every event of the host', () => {
      for (let length = 0; length <= WHOLE[host].length; length++) {
        responseIn(streamed(host, WHOLE[host].slice(0, length), { tools: TOOLS }));
      }
    });
  });
}
