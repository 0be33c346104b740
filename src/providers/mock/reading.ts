/** Reads the parts of a request that influence the mock's response. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';

/** Parts of a request that influence the response. */
export interface Reading {
  /** The text of the user's last message. */
  readonly prompt: string;
  /** Number of tool results after it. */
  readonly results: number;
  /** Number of messages of all roles. */
  readonly messages: number;
  readonly tools: readonly MockTool[];
  /** `tool_choice`. Takes precedence over the prompt. */
  readonly choice?: ToolChoice;
  /** Set for JSON output, with its schema if any. */
  readonly json?: { readonly schema: unknown };
  /** The reason for a 400, as real hosts would refuse the request. */
  readonly problem?: string;
}

export interface MockTool {
  readonly name: string;
  /** `custom`: takes text instead of JSON. `host`: run by hosts, never called by the mock. */
  readonly kind: 'function' | 'custom' | 'host';
  /** Schema of the arguments. */
  readonly schema?: unknown;
}

/** `any`: one of `names`, or of all tools. */
export interface ToolChoice {
  readonly kind: 'auto' | 'none' | 'any';
  readonly names?: readonly string[];
}

/** Reads `tool_choice`. `namesIn` returns the tool names in an object form. */
export function toolChoiceIn(value: unknown, namesIn: (choice: Fields) => readonly unknown[]): ToolChoice {
  if (value === 'none') return { kind: 'none' };
  if (value === 'required') return { kind: 'any' };
  if (!isObject(value)) return { kind: 'auto' };
  const { type, mode } = isObject(value.allowed_tools) ? { type: 'allowed_tools', ...value.allowed_tools } : value;
  const names = namesIn(value).filter((name) => typeof name === 'string');
  if (type === 'allowed_tools') return { kind: mode === 'required' ? 'any' : 'auto', names };
  return names.length === 0 ? { kind: 'auto' } : { kind: 'any', names };
}

/** Reads `response_format`. `json_object` allows any object. */
export function jsonFormatIn(format: unknown): Pick<Reading, 'json'> {
  if (!isObject(format)) return {};
  if (format.type === 'json_object') return { json: { schema: { type: 'object' } } };
  if (format.type !== 'json_schema') return {};
  const { schema = {} } = isObject(format.json_schema) ? format.json_schema : format;
  return { json: { schema } };
}

/** An item of a conversation: a prompt or a tool result. */
export type Turn = { readonly kind: 'prompt'; readonly text: string } | { readonly kind: 'result' };

export const RESULT: Turn = { kind: 'result' };

/** Returns the last prompt and the number of later tool results. */
export function readTurns(turns: readonly Turn[]): { readonly prompt: string; readonly results: number } {
  const last = turns.findLastIndex(({ kind }) => kind === 'prompt');
  const turn = turns[last];
  return { prompt: turn?.kind === 'prompt' ? turn.text : '', results: turns.length - 1 - last };
}

/** Reads a request with a prompt instead of a conversation. */
export function promptAlone(prompt: unknown, messages = 0): Reading {
  return { ...readTurns(promptsIn(prompt)), messages, tools: [] };
}

/** Returns the prompt in a user message's content, a string or parts. Empty if it has only text inserted by agents. */
export function promptsIn(content: unknown): Turn[] {
  const parts = Array.isArray(content) ? content : [content];
  const text = parts
    .map((part) => (isObject(part) ? part.text : part))
    .filter((part) => typeof part === 'string')
    .join(' ');
  const written = withoutReminders(text).trim();
  return written === '' && text.trim() !== '' ? [] : [{ kind: 'prompt', text: written }];
}

const REMINDER_START = '<system-reminder>';
const REMINDER_END = '</system-reminder>';

/** Removes the reminders that coding agents insert into prompts. */
function withoutReminders(text: string): string {
  const pieces = text.split(REMINDER_END);
  const kept = pieces.map((piece, position) => {
    if (position === pieces.length - 1) return piece;
    const start = piece.indexOf(REMINDER_START);
    return start < 0 ? piece + REMINDER_END : piece.slice(0, start);
  });
  return kept.join('');
}
