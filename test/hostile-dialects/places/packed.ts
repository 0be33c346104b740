/** Where a request can hold a file of few bytes of which its host makes many tokens. */
import type { Fields } from '../../hostile/names.ts';
import type { DialectName } from '../dialogue.ts';
import { FILM_IN_BASE64, TEXT_FILES } from '../files/packed.ts';
import { LONG_PDF, PDF_PAGES } from '../files/pdf.ts';
import { PICTURES, VAST_PICTURE } from '../files/pictures.ts';
import { SOUNDS } from '../files/sound.ts';
import { user } from '../requests.ts';
import { called } from './messages.ts';
import { calledFunction } from './responses.ts';
import type { Place } from './texts.ts';

const PDF = 'application/pdf';
const PNG = 'image/png';
const urlOf = (mediaType: string, data: string) => `data:${mediaType};base64,${data}`;

/** How each dialect has a file, or a picture, in its content. */
const PARTS: Readonly<
  Record<DialectName, { file(type: string, data: string, name?: string): Fields; picture(data: string): Fields }>
> = {
  chat: {
    file: (type, data, filename = 'a.pdf') => ({ type: 'file', file: { filename, file_data: urlOf(type, data) } }),
    picture: (data) => ({ type: 'image_url', image_url: { url: urlOf(PNG, data), detail: 'high' } }),
  },
  messages: {
    file: (type, data) => ({ type: 'document', source: { type: 'base64', media_type: type, data } }),
    picture: (data) => ({ type: 'image', source: { type: 'base64', media_type: PNG, data } }),
  },
  responses: {
    file: (type, data, filename = 'a.pdf') => ({ type: 'input_file', filename, file_data: urlOf(type, data) }),
    picture: (data) => ({ type: 'input_image', image_url: urlOf(PNG, data), detail: 'high' }),
  },
};

const [film, filmData] = FILM_IN_BASE64;
const imageUrl = (url: string) => user('chat', [{ type: 'image_url', image_url: { url } }]);

/** Places that only one dialect has. */
const OWN: Readonly<Record<DialectName, readonly Place[]>> = {
  chat: [
    ['a PDF of 300 pages as an `image_url`', imageUrl(urlOf(PDF, LONG_PDF))],
    [`${film} as an \`image_url\``, imageUrl(urlOf('video/mp4', filmData))],
    [
      `${film} as a part \`video_url\``,
      user('chat', [{ type: 'video_url', video_url: { url: urlOf('video/mp4', filmData) } }]),
    ],
    [
      'a part `video` of 200 pictures',
      user('chat', [{ type: 'video', video: Array(200).fill('https://example.org/a.png') }]),
    ],
    ['a PDF of 300 pages that says it is a text', user('chat', [PARTS.chat.file('text/plain', LONG_PDF, 'a.txt')])],
    ['a PDF of 300 pages in base64 alone', user('chat', [{ type: 'file', file: { file_data: LONG_PDF } }])],
  ],
  messages: [
    ['a PDF of 300 pages in the result of a tool', called({}, [PARTS.messages.file(PDF, LONG_PDF)])],
    ['a PDF of 300 pages that says it is a picture', user('messages', [{ ...PARTS.messages.file(PNG, LONG_PDF) }])],
  ],
  responses: [
    ['a PDF of 300 pages in the output of a call', calledFunction([PARTS.responses.file(PDF, LONG_PDF)])],
    [
      'a PDF of 300 pages that says it is a text',
      user('responses', [PARTS.responses.file('text/plain', LONG_PDF, 'a.txt')]),
    ],
  ],
};

const longPdf = (dialect: DialectName): Place => [
  `a PDF of ${PDF_PAGES} pages, which share their contents`,
  user(dialect, [PARTS[dialect].file(PDF, LONG_PDF)]),
];

/** A long PDF in the content of each dialect. */
export const PDF_PLACES: Readonly<Record<DialectName, Place>> = {
  chat: longPdf('chat'),
  messages: longPdf('messages'),
  responses: longPdf('responses'),
};

/** Other files: messages take no texts in base64. */
export const FILE_PLACES = placesOf((dialect) => [
  ...OWN[dialect],
  ...(dialect === 'messages' ? [] : TEXT_FILES).map(
    ([what, data, type, name]): Place => [what, user(dialect, [PARTS[dialect].file(type, data, name)])],
  ),
]);

const MANY = 10;

/** Ten of each picture: the one of most tiles, and that of most pixels, last. */
export const PICTURE_PLACES = placesOf((dialect) => [
  ...[...PICTURES, VAST_PICTURE].map(
    ([what, data]): Place => [`ten times ${what}`, user(dialect, Array(MANY).fill(PARTS[dialect].picture(data)))],
  ),
]);

/** Sound is a part of chat alone. */
export const SOUND_PLACES: readonly Place[] = SOUNDS.map(([what, data, format]) => [
  what,
  user('chat', [{ type: 'input_audio', input_audio: { data, format } }]),
]);

function placesOf(of: (dialect: DialectName) => readonly Place[]): Readonly<Record<DialectName, readonly Place[]>> {
  return { chat: of('chat'), messages: of('messages'), responses: of('responses') };
}
