/** Conversations in tests of responses, and what they become for hosts of both dialects. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { translated } from './responses-support.ts';

/** A conversation, and what it becomes. */
export interface Case {
  readonly what: string;
  readonly request: Fields;
  readonly chat: readonly Fields[];
  /** Where what all clients get at a host of messages does not say it. */
  readonly messages?: readonly Fields[];
  readonly ignored?: { readonly chat?: readonly string[]; readonly messages?: readonly string[] };
}

export const HI = { role: 'user', content: 'Hi' };
export const block = (value: string) => ({ type: 'text', text: value });
export const user = (...content: readonly Fields[]) => ({ role: 'user', content });
export const model = (...content: readonly Fields[]) => ({ role: 'assistant', content });
export const HI_BLOCKS = user(block('Hi'));
export const result = (id: string, ...content: readonly Fields[]) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
});
export const toolMessage = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content });
export const calling = (...calls: readonly Fields[]) => ({ role: 'assistant', content: null, tool_calls: calls });
export const REDACTED = { type: 'redacted_thinking', data: 'x' };
export const reasoning = (content: unknown) => ({
  type: 'reasoning',
  id: 'rs_1',
  summary: [],
  encrypted_content: content,
});
export const REASONING = { chat: ['input.reasoning'] };
export const FOLLOWS = '(What the tool has attached follows in the next message of the user.)';

/** Tests what the input becomes for hosts of both dialects. */
export function testInputs(cases: readonly Case[]): void {
  for (const { what, request, chat, messages, ignored = {} } of cases) {
    test(`${what}: chat`, () => {
      const result = translated('chat', request);
      assert.deepEqual(result.fields.messages, chat);
      assert.deepEqual([...result.ignored].sort(), ignored.chat ?? []);
    });
    if (messages === undefined) continue;
    test(`${what}: messages`, () => {
      const result = translated('messages', request);
      assert.deepEqual(result.fields.messages, messages);
      assert.deepEqual(result.fields.system, undefined);
      assert.deepEqual([...result.ignored].sort(), ignored.messages ?? []);
    });
  }
}
