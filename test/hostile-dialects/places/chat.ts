/** Where text can stand in a chat request that goes to a host of another dialect. */
import type { Fields } from '../../hostile/names.ts';
import { user } from '../requests.ts';
import { DISGUISED, HELLO, LETTERS, type Place, TEXT } from './texts.ts';

const said = (part: Fields) => user('chat', [part]);
const schema = { type: 'object', properties: { [TEXT]: {} } };
const tool = (definition: Fields) => ({ tools: [{ type: 'function', function: { name: 'f', ...definition } }] });
const grammar = { type: 'grammar', grammar: { syntax: 'lark', definition: TEXT } };
const thinking = { type: 'thinking', thinking: TEXT, signature: 'a' };

const customTools = Array.from({ length: 60 }, (_, index) => ({ type: 'custom', custom: { name: `f${index}` } }));
const manySchemas = Object.fromEntries(
  Array.from({ length: 60 }, (_, index) => [`a${index}`, { type: 'object', minimum: 1 }]),
);

function called(json: string, content: unknown): Fields {
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: json } };
  const result = { role: 'tool', tool_call_id: 'c', content };
  return { messages: [HELLO, { role: 'assistant', tool_calls: [call] }, result] };
}

export const CHAT_PLACES: readonly Place[] = [
  ['content', user('chat', TEXT)],
  ['content like a data URL', user('chat', DISGUISED)],
  ['a text', said({ type: 'text', text: LETTERS })],
  ['an image that is no base64', said({ type: 'image_url', image_url: { url: `data:image/png;base64,${TEXT}` } })],
  [
    'the name of a file',
    said({ type: 'file', file: { filename: TEXT, file_data: 'data:application/pdf;base64,AAAA' } }),
  ],
  ['a system message', { messages: [{ role: 'system', content: TEXT }, HELLO] }],
  ['thinking', { messages: [HELLO, { role: 'assistant', content: 'a', thinking_blocks: [thinking] }, HELLO] }],
  ['the arguments of a call', called(`{"a":"${TEXT}"}`, 'ok')],
  ['the result of a tool', called('{}', [{ type: 'text', text: TEXT }])],
  ['the description of a tool', tool({ description: TEXT })],
  ['the schema of a tool', tool({ parameters: schema })],
  ['the strict schema of a tool', tool({ strict: true, parameters: schema })],
  ['strict schemas that grow', tool({ strict: true, parameters: { type: 'object', properties: manySchemas } })],
  ['custom tools', { tools: customTools }],
  ['the grammar of a tool', { tools: [{ type: 'custom', custom: { name: 'f', format: grammar } }] }],
  ['the schema of the answer', { response_format: { type: 'json_schema', json_schema: { name: 'f', schema } } }],
];
