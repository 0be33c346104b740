/** The parts of a request that decide the mock's answer. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';

/** A request, as far as it decides what the mock answers. */
export interface Reading {
  /** The text of the last message that the user wrote. */
  readonly prompt: string;
  /** The number of results of tool calls since then. */
  readonly results: number;
  /** The number of messages, of all roles. */
  readonly messages: number;
  readonly tools: readonly MockTool[];
  /** Which of them has to be called, whatever the prompt says. */
  readonly choice?: ToolChoice;
  /** That the answer has to be JSON, of this schema if there is one. */
  readonly json?: { readonly schema: unknown };
  /** What a host would refuse with status 400. */
  readonly problem?: string;
}

export interface MockTool {
  readonly name: string;
  /** `custom`: takes a text instead of JSON. `host`: one that only hosts themselves call. */
  readonly kind: 'function' | 'custom' | 'host';
  /** Of its arguments. */
  readonly schema?: unknown;
}

/** `any`: one of those named, or of all. */
export interface ToolChoice {
  readonly kind: 'auto' | 'none' | 'any';
  readonly names?: readonly string[];
}

/** Reads `tool_choice`. `namesIn` returns the names in one of its objects. */
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

/** Something in a conversation that decides what comes next. */
export type Turn = { readonly kind: 'prompt'; readonly text: string } | { readonly kind: 'result' };

export const RESULT: Turn = { kind: 'result' };

/** The last prompt, and how many results came after it. */
export function readTurns(turns: readonly Turn[]): { readonly prompt: string; readonly results: number } {
  const last = turns.findLastIndex(({ kind }) => kind === 'prompt');
  const turn = turns[last];
  return { prompt: turn?.kind === 'prompt' ? turn.text : '', results: turns.length - 1 - last };
}

/** A request that has a prompt and no conversation. */
export function promptAlone(prompt: unknown, messages = 0): Reading {
  return { ...readTurns(promptsIn(prompt)), messages, tools: [] };
}

/** The prompt in the content of a user's message: a string, or parts. None if agents alone wrote it. */
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

/** The text without what coding agents insert into prompts. */
function withoutReminders(text: string): string {
  const pieces = text.split(REMINDER_END);
  const kept = pieces.map((piece, position) => {
    if (position === pieces.length - 1) return piece;
    const start = piece.indexOf(REMINDER_START);
    return start < 0 ? piece + REMINDER_END : piece.slice(0, start);
  });
  return kept.join('');
}
