/** Where a request can name what its host keeps or fetches: the gateway sees an id or an address, the host bills what is there. */
import type { Fields } from '../../hostile/names.ts';
import type { DialectName } from '../dialogue.ts';
import { user } from '../requests.ts';
import { called } from './messages.ts';
import { calledFunction } from './responses.ts';
import { HELLO, type Place } from './texts.ts';

const ADDRESS = 'https://example.org/a';
const FILE_ID = 'file-4711';
const CONTAINER_ID = 'cntr_4711';

const part = (type: string, value: unknown): Fields => user('chat', [{ type, [type]: value }]);
const spoken = { role: 'assistant', audio: { id: 'audio_4711' } };

const CHAT: readonly Place[] = [
  ['an earlier answer that was spoken, by its `audio.id`', { messages: [HELLO, spoken, HELLO] }],
  ['a `file_id`', part('file', { file_id: FILE_ID })],
  ['a `file_data` that is an address', part('file', { filename: 'a.pdf', file_data: `${ADDRESS}.pdf` })],
  ['a `file_url`', part('file', { file_url: `${ADDRESS}.pdf` })],
  ['a part `file_url`', part('file_url', { url: `${ADDRESS}.pdf` })],
  ['a part `video_url`', part('video_url', { url: `${ADDRESS}.mp4` })],
  ['a part `video` with an address', part('video', `${ADDRESS}.mp4`)],
  ['a part `audio_url`', part('audio_url', { url: `${ADDRESS}.mp3` })],
  ['a part `document_url`', part('document_url', `${ADDRESS}.pdf`)],
  ['an `input_audio.data` that is an address', part('input_audio', { data: `${ADDRESS}.mp3`, format: 'mp3' })],
  ['an image part with a `file_id`', user('chat', [{ type: 'input_image', file_id: FILE_ID }])],
  ['a part of an unknown type with a `file_id`', user('chat', [{ type: 'attachment', file_id: FILE_ID }])],
  ['a part of an unknown type with a `file_uri`', user('chat', [{ type: 'file_data', file_uri: `${ADDRESS}.mp4` }])],
  ['a cache of the host, by `cached_content`', { cached_content: 'cachedContents/4711' }],
  ['a container, by its id', { container: CONTAINER_ID }],
];

const source = (value: Fields): Fields => user('messages', [{ type: 'document', source: value }]);
const byId = { type: 'file', file_id: FILE_ID };
const byUrl = { type: 'url', url: `${ADDRESS}.pdf` };

const MESSAGES: readonly Place[] = [
  ['a document by its `file_id`', source(byId)],
  ['an image by its `file_id`', user('messages', [{ type: 'image', source: byId }])],
  ['a PDF by its address', source(byUrl)],
  ['a document by its `file_id` in the result of a tool', called({}, [{ type: 'document', source: byId }])],
  ['a PDF by its address in the result of a tool', called({}, [{ type: 'document', source: byUrl }])],
  ['a file for a container', user('messages', [{ type: 'container_upload', file_id: FILE_ID }])],
  ['a part of an unknown type with a `file_id`', user('messages', [{ type: 'audio', source: byId, file_id: FILE_ID }])],
  ['a part `video_url`', user('messages', [{ type: 'video_url', video_url: { url: `${ADDRESS}.mp4` } }])],
  ['a container, by its id', { container: CONTAINER_ID }],
];

const said = (value: Fields): Fields => user('responses', [value]);
const run = (container: unknown): Fields => ({ tools: [{ type: 'code_interpreter', container }] });
const screenshot = {
  type: 'computer_call_output',
  call_id: 'c',
  output: { type: 'computer_screenshot', file_id: FILE_ID },
};
const shell = { type: 'shell', environment: { type: 'container_reference', container_id: CONTAINER_ID } };
const ran = { type: 'code_interpreter_call', id: 'ci_1', container_id: CONTAINER_ID, code: 'a', outputs: null };
const mask = { type: 'image_generation', input_image_mask: { file_id: FILE_ID } };

const RESPONSES: readonly Place[] = [
  ['a `file_id`', said({ type: 'input_file', file_id: FILE_ID })],
  ['a `file_url`', said({ type: 'input_file', file_url: `${ADDRESS}.pdf` })],
  ['a `file_data` that is an address', said({ type: 'input_file', filename: 'a.pdf', file_data: `${ADDRESS}.pdf` })],
  ['an image by its `file_id`', said({ type: 'input_image', file_id: FILE_ID })],
  ['a `file_id` in the output of a call', calledFunction([{ type: 'input_file', file_id: FILE_ID }])],
  ['a `file_url` in the output of a call', calledFunction([{ type: 'input_file', file_url: `${ADDRESS}.pdf` }])],
  ['a screenshot by its `file_id`', { input: [HELLO, screenshot] }],
  ['a part `input_video`', said({ type: 'input_video', video_url: `${ADDRESS}.mp4` })],
  ['a part `input_audio` that is an address', said({ type: 'input_audio', audio_url: `${ADDRESS}.mp3` })],
  ['an item of an unknown type with a `file_id`', { input: [HELLO, { type: 'attachment', file_id: FILE_ID }] }],
  ['a container of the code interpreter, by its id', run(CONTAINER_ID)],
  ['files for a container', run({ type: 'auto', file_ids: [FILE_ID, FILE_ID] })],
  ['a container that an item names', { input: [HELLO, ran, HELLO], ...run({ type: 'auto' }) }],
  ['a container of the shell, by its id', { tools: [shell] }],
  ['a mask by its `file_id`', { tools: [mask] }],
];

/** By the dialect of the request. Each names one file at least. */
export const REFERENCE_PLACES: Readonly<Record<DialectName, readonly Place[]>> = {
  chat: CHAT,
  messages: MESSAGES,
  responses: RESPONSES,
};
