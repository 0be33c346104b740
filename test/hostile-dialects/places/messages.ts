/** Where text can stand in a messages request, or stand for something else. */
import type { Fields } from '../../hostile/names.ts';
import { user } from '../requests.ts';
import { DISGUISED, HELLO, LETTERS, MANY_LETTERS, NUMBERS, type Place, TEXT } from './texts.ts';

const said = (...blocks: readonly Fields[]) => user('messages', blocks);
const image = (data: string) => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } });
const pdf = { type: 'base64', media_type: 'application/pdf' };
const document = (source: Fields, more: Fields = {}) => said({ type: 'document', source, ...more });
const text = (data: string) => ({ type: 'text', text: data });
const textSource = (data: string) => ({ type: 'text', media_type: 'text/plain', data });
const schema = { type: 'object', properties: { [TEXT]: {} } };

/** A conversation with a call of a tool, and its result. */
export function called(input: unknown, content: unknown = 'ok'): Fields {
  const call = { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input }] };
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content }] };
  return { messages: [HELLO, call, result] };
}

function answered(...blocks: readonly Fields[]): Fields {
  return { messages: [HELLO, { role: 'assistant', content: blocks }, HELLO] };
}

export const MESSAGES_PLACES: readonly Place[] = [
  ['system', { system: TEXT }],
  ['blocks of system', { system: [text(TEXT)] }],
  ['content', user('messages', TEXT)],
  ['content like a data URL', user('messages', DISGUISED)],
  ['a text block', said(text(LETTERS))],
  ['a block of an unknown type', said({ type: 'note', data: TEXT })],
  ['the name of a field', { messages: [{ ...HELLO, [TEXT]: 1 }] }],
  ['an image that is no base64', said(image(TEXT))],
  ['a field beside an image', said({ ...image('AAAA'), caption: TEXT })],
  ['the result of a tool', called({}, TEXT)],
  ['blocks of a result', called({}, [text(TEXT)])],
  ['a block of an unknown type in a result', called({}, [{ type: 'note', note: { a: [TEXT] } }])],
  ['numbers in a result', called({}, [{ type: 'note', note: NUMBERS }])],
  ['the input of a call', called({ a: TEXT })],
  ['a name in the input of a call', called({ [TEXT]: 1 })],
  ['the depth of the input of a call', called({ a: [{ b: [[{ c: LETTERS }]] }] })],
  ...[true, null, [], {}, 1, 'a'].map(
    (value): Place => [`${JSON.stringify(value)} in the input of a call`, called({ a: Array(500).fill(value) })],
  ),
  ['an image in the input of a call', called(image(MANY_LETTERS))],
  ['the source of an image in the input of a call', called({ ...image(MANY_LETTERS), type: 'a' })],
  ['a PDF in the input of a call', called({ source: { ...pdf, data: MANY_LETTERS } })],
  ['thinking', answered({ type: 'thinking', thinking: TEXT, signature: 'a' }, text('a'))],
  ['a document', document(textSource(TEXT))],
  ['a document of blocks', document({ type: 'content', content: [text(TEXT)] })],
  ['a document of a string', document({ type: 'content', content: TEXT })],
  ['the title of a document', document(textSource('a'), { title: TEXT })],
  ['the context of a document', document(textSource('a'), { context: TEXT })],
  ['a result of a search', said({ type: 'search_result', title: TEXT, source: TEXT, content: [text(TEXT)] })],
  ['the description of a tool', { tools: [{ name: 'f', description: TEXT, input_schema: { type: 'object' } }] }],
  ['the schema of a tool', { tools: [{ name: 'f', input_schema: schema }] }],
  ['the schema of the answer', { output_config: { format: { type: 'json_schema', schema } } }],
  ['an unknown field', { suffix: TEXT }],
  ['names in an unknown field', { values: { [TEXT]: [] } }],
];
