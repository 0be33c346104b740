/** Conversations in tests of responses, and what they become for hosts of both dialects. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { translated } from './responses-support.ts';

/** A conversation, and what it becomes. `system`: in the messages dialect, where it is apart. */
export interface Case {
  readonly what: string;
  readonly request: Fields;
  readonly chat: readonly Fields[];
  readonly system?: readonly string[];
  readonly messages: readonly Fields[];
  readonly ignored?: { readonly chat?: readonly string[]; readonly messages?: readonly string[] };
}

export const HI = { role: 'user', content: 'Hi' };
export const block = (value: string) => ({ type: 'text', text: value });
export const user = (...content: readonly Fields[]) => ({ role: 'user', content });
export const model = (...content: readonly Fields[]) => ({ role: 'assistant', content });
export const HI_BLOCKS = user(block('Hi'));
export const use = (id: string, name: string, input: Fields) => ({ type: 'tool_use', id, name, input });
export const result = (id: string, ...content: readonly Fields[]) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
});
export const toolCall = (id: string, name: string, json: string) => ({
  id,
  type: 'function',
  function: { name, arguments: json },
});
export const toolMessage = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content });
export const calling = (...calls: readonly Fields[]) => ({ role: 'assistant', content: null, tool_calls: calls });
export const THINKING = { type: 'thinking', thinking: 'Hm.', signature: 'sig' };
export const REDACTED = { type: 'redacted_thinking', data: 'x' };
export const reasoning = (content: unknown) => ({
  type: 'reasoning',
  id: 'rs_1',
  summary: [],
  encrypted_content: content,
});
export const REASONING = { chat: ['input.reasoning'] };
export const FOLLOWS = '(What the tool has attached follows in the next message of the user.)';
export const IMAGE_BLOCK = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } };

/** Tests what the input becomes for hosts of both dialects. */
export function testInputs(cases: readonly Case[]): void {
  for (const { what, request, chat, system = [], messages, ignored = {} } of cases) {
    test(`${what}: chat`, () => {
      const result = translated('chat', request);
      assert.deepEqual(result.fields.messages, chat);
      assert.deepEqual([...result.ignored].sort(), ignored.chat ?? []);
    });
    test(`${what}: messages`, () => {
      const result = translated('messages', request);
      assert.deepEqual(result.fields.messages, messages);
      assert.deepEqual(result.fields.system ?? [], system.map(block));
      assert.deepEqual([...result.ignored].sort(), ignored.messages ?? []);
    });
  }
}
