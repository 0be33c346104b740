/** Attacks with attachments: by address and in base64, wherever a dialect takes them. */
import type { Fields } from '../../hostile/names.ts';
import type { DialectName } from '../dialogue.ts';
import { holds } from '../measures.ts';
import { called } from '../places/messages.ts';
import { calledFunction } from '../places/responses.ts';
import { type Place, TEXT } from '../places/texts.ts';
import { ALL, MAXIMA, user } from '../requests.ts';

const MANY = 10;
const URL = 'https://example.org/a';
/** A picture of no size in particular, and a PDF of 24 KB. */
const PICTURE = 'iVBORw0KGgo=';
const PDF = 'JVBERi0x'.repeat(4_000);

const many = (part: Fields) => Array(MANY).fill(part);

const image = (source: Fields) => ({ type: 'image', source });
const document = (source: Fields) => ({ type: 'document', source });
const base64 = (mediaType: string, data: string) => ({ type: 'base64', media_type: mediaType, data });
const byUrl = { type: 'url', url: URL };
const pdf = document(base64('application/pdf', PDF));
const picture = image(base64('image/png', PICTURE));

const MESSAGES: readonly Place[] = [
  ['images by address', user('messages', many(image(byUrl)))],
  ['images in base64', user('messages', many(picture))],
  ['large images in base64', user('messages', [image(base64('image/jpeg', PDF))])],
  ['a PDF in base64', user('messages', [pdf])],
  ['a PDF that says it is an image', user('messages', [document(base64('image/png', PDF))])],
  ['documents by address', user('messages', many(document(byUrl)))],
  ['images within a document', user('messages', [document({ type: 'content', content: many(image(byUrl)) })])],
  ['images in the result of a tool', called({}, many(picture))],
  ['a PDF in the result of a tool', called({}, [pdf])],
  ['documents by address in the result of a tool', called({}, many(document(byUrl)))],
];

const inputImage = (url: string) => ({ type: 'input_image', image_url: url });
const inputPdf = { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` };
const textFile = { filename: 'a.txt', file_data: `data:text/plain;base64,${Buffer.from(TEXT).toString('base64')}` };
const linked = { type: 'input_file', file_url: URL };

const RESPONSES: readonly Place[] = [
  ['images by address', user('responses', many(inputImage(URL)))],
  ['images in base64', user('responses', many(inputImage(`data:image/png;base64,${PICTURE}`)))],
  ['a PDF in base64', user('responses', [inputPdf])],
  ['a text in base64', user('responses', [{ type: 'input_file', ...textFile }])],
  ['documents by address', user('responses', many(linked))],
  ...['', 'data:application/pdf;base64,AAAA', 0, false, {}].map(
    (data): Place => [
      `documents by address beside ${JSON.stringify(data)}`,
      user('responses', many({ ...linked, file_data: data })),
    ],
  ),
  ['images in the output of a call', calledFunction(many(inputImage(URL)))],
  ['a PDF in the output of a call', calledFunction([inputPdf])],
  ['documents by address in the output of a call', calledFunction(many(linked))],
];

const imageUrl = (url: string) => ({ type: 'image_url', image_url: { url } });

const CHAT: readonly Place[] = [
  ['images by address', user('chat', many(imageUrl(URL)))],
  ['images in base64', user('chat', many(imageUrl(`data:image/png;base64,${PICTURE}`)))],
  ['a text in base64', user('chat', [{ type: 'file', file: textFile }])],
  ['a PDF in base64', user('chat', [{ type: 'file', file: { filename: 'a.pdf', file_data: inputPdf.file_data } }])],
];

/** Where an attachment can be in the requests of each dialect. */
export const ATTACHMENT_PLACES: Readonly<Record<DialectName, readonly Place[]>> = {
  chat: CHAT,
  messages: MESSAGES,
  responses: RESPONSES,
};

export const ATTACHMENTS = {
  title: 'Attachments, in other dialects',
  attacks: ALL.flatMap((direction) =>
    ATTACHMENT_PLACES[direction.client].map(([what, fields]) =>
      holds({ direction, what: `held for: ${what}`, fields: { [MAXIMA[direction.client]]: 1, ...fields } }),
    ),
  ),
};
