/** How requests have tools that the host runs: by their kinds, their maxima, and what else changes the price of a call. */
import type { Fields } from '../../hostile/names.ts';
import type { DialectName } from '../dialogue.ts';
import { SWITCH_PLACES } from './switches.ts';
import type { Place } from './texts.ts';

const tools = (...declared: readonly Fields[]): Fields => ({ tools: declared });

const search = { type: 'web_search_20250305', name: 'web_search' };
const newerSearch = { type: 'web_search_20260318', name: 'web_search' };
const fetch = { type: 'web_fetch_20250910', name: 'web_fetch' };

const MESSAGES: readonly Place[] = [
  ['a search', tools(search)],
  ['three searches', tools({ ...search, max_uses: 3 })],
  ['a newer search', tools({ ...newerSearch, max_uses: 2 })],
  ['pages', tools(fetch)],
  ['five pages', tools({ ...fetch, max_uses: 5 })],
  ['searches and pages', tools({ ...search, max_uses: 2 }, { ...fetch, max_uses: 2 })],
];

const container = (more: Fields) => tools({ type: 'code_interpreter', container: { type: 'auto', ...more } });
const picture = (more: Fields) => tools({ type: 'image_generation', ...more });

/** What changes the price of a call. */
export const VARIANT_PLACES: readonly Place[] = [
  ['a container of 4 GB', container({ memory_limit: '4g' })],
  ['a container of 16 GB', container({ memory_limit: '16g' })],
  ['a container of 64 GB, which has no price', container({ memory_limit: '64g' })],
  ['a picture of high quality', picture({ quality: 'high', size: '1024x1024' })],
  ['a large picture of high quality', picture({ quality: 'high', size: '1536x1024' })],
  ['a picture of no quality in particular', picture({})],
  ['a large picture of the best quality there is', picture({ quality: 'max', size: '2048x2048' })],
  ['a search of the preview kind', tools({ type: 'web_search_preview' })],
  ['a search of a dated preview kind', tools({ type: 'web_search_preview_2025_03_11' })],
];

const RESPONSES: readonly Place[] = [
  ['a search', tools({ type: 'web_search' })],
  ['three searches', { ...tools({ type: 'web_search' }), max_tool_calls: 3 }],
  ['searches of two kinds', { ...tools({ type: 'web_search' }, { type: 'web_search_preview' }), max_tool_calls: 4 }],
  ['a search in files', tools({ type: 'file_search' })],
  ['a container', container({})],
  ['a container of its usual memory', container({ memory_limit: null })],
  ['a picture of low quality', picture({ quality: 'low', size: '1024x1024' })],
  [
    'a search and a container',
    tools({ type: 'web_search' }, { type: 'code_interpreter', container: { type: 'auto' } }),
  ],
  ...VARIANT_PLACES,
];

/** By the dialect of the request. Those of chat are switched on. */
export const TOOL_PLACES: Readonly<Record<DialectName, readonly Place[]>> = {
  chat: SWITCH_PLACES,
  messages: MESSAGES,
  responses: RESPONSES,
};
