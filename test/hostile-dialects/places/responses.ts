/** Where text can stand in a responses request, or stand for something else. */
import type { Fields } from '../../hostile/names.ts';
import { user } from '../requests.ts';
import { DISGUISED, HELLO, LETTERS, MANY_LETTERS, type Place, TEXT } from './texts.ts';

const said = (part: Fields) => user('responses', [part]);
const item = (value: Fields) => ({ input: [HELLO, value, HELLO] });
const file = (filename: string, data: string) => said({ type: 'input_file', filename, file_data: data });
const schema = { type: 'object', properties: { [TEXT]: {} } };
const described = { type: 'function', name: 'f', description: TEXT };
const grammar = { type: 'grammar', syntax: 'lark', definition: TEXT };

const customTools = Array.from({ length: 60 }, (_, index) => ({ type: 'custom', name: `f${index}` }));
/** 56 letters: with the name of a tool as many as hosts take. */
const LONG_NAME = LETTERS.slice(0, 56);
/** Base64 of bytes that are no UTF-8, each of which becomes a character. */
const START = Buffer.from('{"type":"thinking","signature":"a", "thinking":"').toString('base64');
const THOUGHT = `messages.${START}${'/'.repeat(8_000)}${Buffer.from('"}').toString('base64')}`;

const DONE = { role: 'assistant', content: 'ok' };
const listed = (schema: Fields) => ({
  type: 'mcp_list_tools',
  server_label: 's',
  tools: [{ name: 'f', input_schema: schema }],
});

/** A conversation with a call of a tool, and its output. */
export function calledFunction(output: unknown): Fields {
  const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
  return { input: [HELLO, call, { type: 'function_call_output', call_id: 'c1', output }] };
}

export const RESPONSES_PLACES: readonly Place[] = [
  ['input', { input: TEXT }],
  ['input like a data URL', { input: DISGUISED }],
  ['instructions', { instructions: TEXT }],
  ['a text', said({ type: 'input_text', text: LETTERS })],
  ['a part of an unknown type', said({ type: 'note', data: TEXT })],
  ['the name of a field', { input: [{ ...HELLO, [TEXT]: 1 }] }],
  ['an image that is no base64', said({ type: 'input_image', image_url: `data:image/png;base64,${TEXT}` })],
  ['a file that is no base64', file('a.pdf', TEXT)],
  ['the name of a file', file(TEXT, 'data:application/pdf;base64,AAAA')],
  ['an earlier answer', item({ role: 'assistant', content: [{ type: 'output_text', text: TEXT }] })],
  ['a message of a developer', { input: [{ role: 'developer', content: TEXT }, HELLO] }],
  ['the arguments of a call', item({ type: 'function_call', call_id: 'c', name: 'f', arguments: `{"a":"${TEXT}"}` })],
  ['the input of a custom call', item({ type: 'custom_tool_call', call_id: 'c', name: 'f', input: TEXT })],
  ['the output of a call', calledFunction(TEXT)],
  ['parts of an output', calledFunction([{ type: 'input_text', text: TEXT }])],
  ['a part of an unknown type in an output', calledFunction([{ type: 'note', note: { a: [TEXT] } }])],
  ['a summary of reasoning', item({ type: 'reasoning', summary: [{ type: 'summary_text', text: TEXT }] })],
  ['encrypted reasoning', item({ type: 'reasoning', summary: [], encrypted_content: LETTERS })],
  [
    'reasoning that grows',
    { input: [HELLO, { type: 'reasoning', summary: [], encrypted_content: THOUGHT }, DONE, HELLO] },
  ],
  ['the input_schema of a tool that was listed', item(listed({ type: 'input_image', image_url: MANY_LETTERS }))],
  ['an item of an unknown type', item({ type: 'note', data: TEXT })],
  ['the description of a tool', { tools: [described] }],
  ['the schema of a tool', { tools: [{ type: 'function', name: 'f', parameters: schema }] }],
  ['the grammar of a tool', { tools: [{ type: 'custom', name: 'f', format: grammar }] }],
  ['a namespace of tools', { tools: [{ type: 'namespace', name: 'n', description: TEXT, tools: [described] }] }],
  ['tools that are added', { input: [{ type: 'additional_tools', role: 'developer', tools: [described] }, HELLO] }],
  ['custom tools', { tools: customTools }],
  [
    'a long name of a namespace',
    { tools: [{ type: 'namespace', name: LONG_NAME, description: 'a', tools: customTools }] },
  ],
  ['the schema of the answer', { text: { format: { type: 'json_schema', name: 'a', schema } } }],
  ['an unknown field', { suffix: TEXT }],
];
