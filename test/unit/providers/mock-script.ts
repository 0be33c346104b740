/** Asks the mock provider in any dialect, and reads what it sends. */
import assert from 'node:assert/strict';
import type { ClientDialect } from '../../../src/core/dialects.ts';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { mockScript, type Step } from '../../../src/providers/mock/mock.ts';
import { readJsonBody } from '../../../src/wire/body.ts';
import { SseSplitter } from '../../../src/wire/sse.ts';
import { wav } from '../../support/sound-files.ts';

export type Json = Record<string, unknown>;

export const TEXT_DIALECTS = ['chat', 'messages', 'responses'] as const;
export type TextDialect = (typeof TEXT_DIALECTS)[number];

/** A second of silence. */
const SOUND = wav({}, Buffer.alloc(16_000));

const CONTEXT = { id: 'answer-1', createdS: 1_700_000_000 };

/** The fields of a request that consists of a prompt alone. */
const ASKING: Readonly<Record<ClientDialect, (prompt: string) => Json>> = {
  chat: (prompt) => ({ messages: [{ role: 'user', content: prompt }] }),
  messages: (prompt) => ({ messages: [{ role: 'user', content: prompt }], max_tokens: 20_000 }),
  responses: (prompt) => ({ input: prompt }),
  embeddings: (prompt) => ({ input: prompt }),
  images: (prompt) => ({ prompt }),
  image_edits: (prompt) => ({ prompt, image: { bytes: Buffer.alloc(1) } }),
  transcriptions: (prompt) => ({ prompt, file: { bytes: SOUND } }),
  translations: (prompt) => ({ prompt, file: { bytes: SOUND } }),
  speech: (prompt) => ({ input: prompt, voice: 'alloy' }),
  moderations: (prompt) => ({ input: prompt }),
  rerank: (prompt) => ({ query: prompt, documents: ['one', prompt] }),
  gemini_embeddings: (prompt) => ({ content: { parts: [{ text: prompt }] } }),
  gemini: (prompt) => ({ contents: [{ role: 'user', parts: [{ text: prompt }] }] }),
};

export interface Played {
  readonly status: number;
  readonly contentType: string;
  readonly delayMs: number;
  readonly steps: readonly Step[];
  /** Everything that is sent. */
  readonly text: string;
}

/** The response to a prompt, with further fields in the request. */
export function play(dialect: ClientDialect, prompt: string, fields: Json = {}): Played {
  const asked = { model: 'mock/echo', ...ASKING[dialect](prompt), ...fields };
  const read = readJsonBody(Buffer.from(JSON.stringify(asked)));
  assert.ok(read.ok, read.ok ? '' : read.problem);
  // Of a form only its fields matter.
  const body = DIALECTS[dialect].isForm ? { ...read.body, fields: asked } : read.body;
  const checked = DIALECTS[dialect].check(body, 'mock/echo');
  assert.ok(checked.ok, checked.ok ? '' : checked.problem);
  const script = mockScript(checked.request, CONTEXT);
  const steps = [...script.steps];
  return { ...script, steps, text: steps.map(({ bytes }) => bytes ?? '').join('') };
}

/** A whole answer. */
export function answerTo(dialect: ClientDialect, prompt: string, fields: Json = {}): Json {
  return JSON.parse(play(dialect, prompt, fields).text);
}

export interface MockEvent {
  readonly name: string | undefined;
  readonly data: Json;
}

/** The events of a stream, but for `[DONE]`. */
export function eventsOf({ text }: Pick<Played, 'text'>): MockEvent[] {
  const splitter = new SseSplitter();
  const events = splitter.push(Buffer.from(text));
  assert.equal(splitter.end(), undefined, 'the last event is not complete');
  return events
    .filter(({ data }) => data !== '[DONE]')
    .map(({ name, data = '' }) => ({ name, data: JSON.parse(data) }));
}

export function streamOf(dialect: TextDialect, prompt: string, fields: Json = {}): MockEvent[] {
  return eventsOf(play(dialect, prompt, { ...fields, stream: true }));
}

const PARAMETERS = { type: 'object', properties: { path: { type: 'string' } } };

/** A tool that takes arguments, in each dialect. */
export function functionTool(dialect: TextDialect, name: string, parameters: Json = PARAMETERS): Json {
  if (dialect === 'chat') return { type: 'function', function: { name, parameters } };
  return dialect === 'messages'
    ? { name, input_schema: parameters }
    : { type: 'function', name, parameters, strict: null };
}

/** The demand for JSON, of a schema if there is one. */
export function jsonFormat(dialect: TextDialect, schema?: Json): Json {
  const format = schema === undefined ? { type: 'json_object' } : { type: 'json_schema', name: 'answer', schema };
  switch (dialect) {
    case 'chat':
      return { response_format: schema === undefined ? format : { type: 'json_schema', json_schema: format } };
    case 'messages':
      return { output_config: { format: { type: 'json_schema', schema } } };
    case 'responses':
      return { text: { format } };
  }
}

/** The demand for a call: of `any` tool, of `none`, or of the one of that name. */
export function toolChoice(dialect: TextDialect, name: string): unknown {
  const isNamed = name !== 'any' && name !== 'none';
  if (dialect === 'messages') return isNamed ? { type: 'tool', name } : { type: name };
  if (!isNamed) return name === 'any' ? 'required' : 'none';
  return dialect === 'chat' ? { type: 'function', function: { name } } : { type: 'function', name };
}

/** What an answer says, in the same form for all dialects. */
export interface Said {
  readonly thinking: string;
  readonly text: string;
  readonly call: { readonly name: unknown; readonly args: unknown } | undefined;
  readonly ending: unknown;
  readonly usage: unknown;
}

/** Reads a whole answer. */
export function said(dialect: TextDialect, answer: Json): Said {
  return READERS[dialect](answer);
}

const objects = (value: unknown) => (value ?? []) as Json[];
const textIn = (items: readonly Json[], field: string) => items.map((item) => item[field] ?? '').join('');

const READERS: Readonly<Record<TextDialect, (answer: Json) => Said>> = {
  chat({ choices, usage }) {
    const [choice = {}] = objects(choices);
    const message = choice.message as Json;
    const [call] = objects(message.tool_calls);
    const made = (call?.function ?? call?.custom) as Json | undefined;
    return {
      thinking: String(message.reasoning_content ?? ''),
      text: String(message.content ?? ''),
      call: made && { name: made.name, args: made.arguments ?? made.input },
      ending: choice.finish_reason,
      usage,
    };
  },
  messages({ content, stop_reason: ending, usage }) {
    const blocks = objects(content);
    const call = blocks.find(({ type }) => type === 'tool_use');
    return {
      thinking: textIn(blocks, 'thinking'),
      text: textIn(blocks, 'text'),
      call: call && { name: call.name, args: JSON.stringify(call.input) },
      ending,
      usage,
    };
  },
  responses({ output, status: ending, usage }) {
    const items = objects(output);
    const call = items.find(({ type }) => type === 'function_call' || type === 'custom_tool_call');
    return {
      thinking: items.map(({ summary }) => textIn(objects(summary), 'text')).join(''),
      text: items.map(({ content }) => textIn(objects(content), 'text')).join(''),
      call: call && { name: call.name, args: call.arguments ?? call.input },
      ending,
      usage,
    };
  },
};
