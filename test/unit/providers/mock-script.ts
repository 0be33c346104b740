/** Sends requests to the mock provider, and reads its answers. */
import assert from 'node:assert/strict';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { type MockedDialect, mockScript, type Step } from '../../../src/providers/mock/mock.ts';
import { readJsonBody } from '../../../src/wire/body.ts';
import { SseSplitter } from '../../../src/wire/sse.ts';
import { wav } from '../../support/sound-files.ts';

export type Json = Record<string, unknown>;

/** A second of silence. */
const SOUND = wav({}, Buffer.alloc(16_000));

const CONTEXT = { id: 'answer-1', createdS: 1_700_000_000 };

/** The fields of a request that consists of a prompt alone. */
const ASKING: Readonly<Record<MockedDialect, (prompt: string) => Json>> = {
  chat: (prompt) => ({ messages: [{ role: 'user', content: prompt }] }),
  embeddings: (prompt) => ({ input: prompt }),
  images: (prompt) => ({ prompt }),
  image_edits: (prompt) => ({ prompt, image: { bytes: Buffer.alloc(1) } }),
  transcriptions: (prompt) => ({ prompt, file: { bytes: SOUND } }),
  translations: (prompt) => ({ prompt, file: { bytes: SOUND } }),
  speech: (prompt) => ({ input: prompt, voice: 'alloy' }),
  moderations: (prompt) => ({ input: prompt }),
  rerank: (prompt) => ({ query: prompt, documents: ['one', prompt] }),
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
export function play(dialect: MockedDialect, prompt: string, fields: Json = {}): Played {
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
export function answerTo(dialect: MockedDialect, prompt: string, fields: Json = {}): Json {
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

export function streamOf(prompt: string, fields: Json = {}): MockEvent[] {
  return eventsOf(play('chat', prompt, { ...fields, stream: true }));
}

const PARAMETERS = { type: 'object', properties: { path: { type: 'string' } } };

/** A tool that takes arguments. */
export function functionTool(name: string, parameters: Json = PARAMETERS): Json {
  return { type: 'function', function: { name, parameters } };
}

/** The demand for JSON, of a schema if there is one. */
export function jsonFormat(schema?: Json): Json {
  const format =
    schema === undefined ? { type: 'json_object' } : { type: 'json_schema', json_schema: { name: 'answer', schema } };
  return { response_format: format };
}

/** The content of an answer. */
export interface Said {
  readonly thinking: string;
  readonly text: string;
  readonly call: { readonly name: unknown; readonly args: unknown } | undefined;
  readonly ending: unknown;
  readonly usage: unknown;
}

/** Reads a whole answer in chat. */
export function said({ choices, usage }: Json): Said {
  const [choice = {}] = choices as Json[];
  const message = choice.message as Json;
  const [call] = (message.tool_calls ?? []) as Json[];
  const made = (call?.function ?? call?.custom) as Json | undefined;
  return {
    thinking: String(message.reasoning_content ?? ''),
    text: String(message.content ?? ''),
    call: made && { name: made.name, args: made.arguments ?? made.input },
    ending: choice.finish_reason,
    usage,
  };
}
