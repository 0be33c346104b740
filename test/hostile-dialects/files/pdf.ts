/** A PDF of many pages in few bytes. */
import { deflateSync } from 'node:zlib';
import { textOf } from '../../hostile/texts.ts';
import { Random } from '../../support/random.ts';
import { fileOf } from './file.ts';

export const PDF_PAGES = 300;

const HEADER = '%PDF-1.7\n%\xe2\xe3\xcf\xd3\n';
const [CATALOG, ROOT, FONT, TEXT] = [1, 2, 3, 4];
const FIRST_PAGE = 20;

const bytes = (text: string) => Buffer.from(text, 'latin1');
const reference = (number: number) => `${number} 0 R`;

/** A full page of prose, which all pages share. */
const PROSE = textOf('prose', 5_000, new Random(3)).match(/.{1,80}/g) ?? [];
const CONTENT = deflateSync(`BT /F 9 Tf 40 800 Td 11 TL ${PROSE.map((line) => `(${line}) Tj T*`).join(' ')} ET`);

const PAGE = bytes(
  `<</Type/Page/Parent ${reference(ROOT)}/MediaBox[0 0 595 842]/Contents ${reference(TEXT)}/Resources<</Font<</F ${reference(FONT)}>>>>>>`,
);
const PAGE_NUMBERS = Array.from({ length: PDF_PAGES }, (_, index) => FIRST_PAGE + index);
const OBJECTS: readonly (readonly [number: number, body: Buffer])[] = [
  [CATALOG, bytes(`<</Type/Catalog/Pages ${reference(ROOT)}>>`)],
  [ROOT, bytes(`<</Type/Pages/Count ${PDF_PAGES}/Kids[${PAGE_NUMBERS.map(reference).join(' ')}]>>`)],
  [FONT, bytes('<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>')],
  [
    TEXT,
    Buffer.concat([bytes(`<</Filter/FlateDecode/Length ${CONTENT.length}>>\nstream\n`), CONTENT, bytes('\nendstream')]),
  ],
  ...PAGE_NUMBERS.map((number) => [number, PAGE] as const),
];

/** The objects, a table of where each is, and the trailer. */
function longPdf(): Buffer {
  const parts: Buffer[] = [bytes(HEADER)];
  const sections: string[] = [];
  let offset = HEADER.length;
  for (const [number, body] of OBJECTS) {
    const object = Buffer.concat([bytes(`${number} 0 obj\n`), body, bytes('\nendobj\n')]);
    sections.push(`${number} 1\n${String(offset).padStart(10, '0')} 00000 n \n`);
    parts.push(object);
    offset += object.length;
  }
  const size = FIRST_PAGE + PDF_PAGES;
  const table = `xref\n0 1\n0000000000 65535 f \n${sections.join('')}`;
  const trailer = `trailer\n<</Size ${size}/Root ${reference(CATALOG)}>>\nstartxref\n${offset}\n%%EOF\n`;
  return Buffer.concat([...parts, bytes(table), bytes(trailer)]);
}

/** In base64. */
export const LONG_PDF = fileOf(longPdf(), { pages: PDF_PAGES });
