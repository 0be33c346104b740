/** Chat requests for hosts of the messages dialect, and what these answer and stream. */
import assert from 'node:assert/strict';
import type { Fields } from '../../../src/dialects/dialect.ts';
import type { HostTerms } from '../../../src/translate/translation.ts';
import { hosted, translated as translatedFor } from './hosted.ts';

export const CONTEXT = { requestId: 'req_1', nowS: 1_700_000_000 };
const TERMS: HostTerms = { maxOutput: 64_000, defaultOutput: 512, ignoreTools: [] };

export const translate = (body: Fields) => hosted('chat', 'messages', body, TERMS);
export const translated = (body: Fields, terms = TERMS) => translatedFor('chat', 'messages', body, terms);

export const HI = { role: 'user', content: 'Hi' };
export const HI_BLOCKS = { role: 'user', content: [{ type: 'text', text: 'Hi' }] };
export const EPHEMERAL = { type: 'ephemeral' };
export const HOUR = { type: 'ephemeral', ttl: '1h' };

export function functionTool(name: string, more: Fields = {}): Fields {
  return { type: 'function', function: { name, ...more } };
}

export const TWO = [functionTool('a'), functionTool('b')];

/** What a custom tool takes, as a function. */
export function customSchema(description: string): Fields {
  const properties = { input: { type: 'string', description } };
  return { type: 'object', properties, required: ['input'], additionalProperties: false };
}

/** A tool as a `tool_choice` names it. */
export function named(type: 'function' | 'custom', name: string): Fields {
  return { type, [type]: { name } };
}

export function allowed(mode: string, ...tools: Fields[]): Fields {
  return { type: 'allowed_tools', allowed_tools: { mode, tools } };
}

/** A part of a chat message, and a block. */
export function text(value: string, more: Fields = {}): Fields {
  return { type: 'text', text: value, ...more };
}

export function image(url: string, more: Fields = {}): Fields {
  return { type: 'image_url', image_url: { url, ...more } };
}

export function file(data: string, more: Fields = {}): Fields {
  return { type: 'file', file: { file_data: data, ...more } };
}

export function call(id: string, name: string, json: string): Fields {
  return { id, type: 'function', function: { name, arguments: json } };
}

/** A request for a stream with everything. */
export const STREAM = {
  stream: true,
  stream_options: { include_usage: true },
  tools: [functionTool('f'), { type: 'custom', custom: { name: 'c' } }],
};

/** The text that a client receives of these events, whole. */
export function streamed(events: readonly Fields[], body: Fields = STREAM): string {
  const translator = translated(body).response.stream(CONTEXT);
  return events.map((event) => translator.push(event)).join('') + translator.completion();
}

/** The chunks of a stream. */
export function chunksIn(stream: string): Fields[] {
  const events = stream.split('\n\n');
  assert.equal(events.pop(), '');
  return events.filter((event) => event !== 'data: [DONE]').map((event) => JSON.parse(event.replace(/^data: /, '')));
}

/** Joins deltas as client libraries do: texts are appended, and lists joined by the index of their entries. */
function merge(into: Record<string, unknown>, delta: Fields): Record<string, unknown> {
  for (const [name, value] of Object.entries(delta)) {
    const before = into[name];
    if (typeof value === 'string' && typeof before === 'string') into[name] = before + value;
    else if (Array.isArray(value)) {
      const list = (before ?? []) as Record<string, unknown>[];
      for (const { index, ...entry } of value) list[index] = merge(list[index] ?? {}, entry);
      into[name] = list;
    } else if (typeof value === 'object' && value !== null) {
      into[name] = merge((before ?? {}) as Record<string, unknown>, value as Fields);
    } else into[name] = value;
  }
  return into;
}

interface ReadBack {
  readonly message: Fields;
  readonly finishReasons: readonly unknown[];
  readonly usage: unknown;
}

export function readBack(stream: string): ReadBack {
  const chunks = chunksIn(stream);
  const choices = chunks.flatMap((chunk) => chunk.choices as Fields[]);
  return {
    message: choices.reduce((message, choice) => merge(message, choice.delta as Fields), {}),
    finishReasons: choices.map((choice) => choice.finish_reason).filter((reason) => reason !== null),
    usage: chunks.at(-1)?.usage,
  };
}
