/** PDFs of many pages in few bytes, in each of the ways that hide pages from whoever counts them without reading as a viewer does. */
import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { textOf } from '../../hostile/texts.ts';
import { Random } from '../../support/random.ts';
import { fileOf } from './file.ts';

const PAGES = 300;

const HEADER = '%PDF-1.7\n%\xe2\xe3\xcf\xd3\n';
const [CATALOG, ROOT, FONT, TEXT, NODE] = [1, 2, 3, 4, 5];
const FIRST_PAGE = 20;

/** The numbers of the objects, and what each is. */
type Objects = ReadonlyMap<number, Buffer>;

const bytes = (text: string) => Buffer.from(text, 'latin1');
const reference = (number: number) => `${number} 0 R`;

function stream(dictionary: string, data: Buffer): Buffer {
  return Buffer.concat([bytes(`<<${dictionary}/Length ${data.length}>>\nstream\n`), data, bytes('\nendstream')]);
}

function written(number: number, body: Buffer): Buffer {
  return Buffer.concat([bytes(`${number} 0 obj\n`), body, bytes('\nendobj\n')]);
}

/** A full page of prose, which all pages share. */
const PROSE = textOf('prose', 5_000, new Random(3)).match(/.{1,80}/g) ?? [];
const CONTENT = deflateSync(`BT /F 9 Tf 40 800 Td 11 TL ${PROSE.map((line) => `(${line}) Tj T*`).join(' ')} ET`);

const page = (parent: number) =>
  bytes(
    `<</Type/Page/Parent ${reference(parent)}/MediaBox[0 0 595 842]/Contents ${reference(TEXT)}/Resources<</Font<</F ${reference(FONT)}>>>>>>`,
  );
const tree = (kids: readonly number[], count: number, more = '') =>
  bytes(`<</Type/Pages${more}/Count ${count}/Kids[${kids.map(reference).join(' ')}]>>`);
const catalog = bytes(`<</Type/Catalog/Pages ${reference(ROOT)}>>`);
const font = bytes('<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>');
const numbersOf = (count: number, first = FIRST_PAGE) => Array.from({ length: count }, (_, index) => first + index);

/** A document whose pages are each an object of their own. */
function documentOf(count: number, said = count): Map<number, Buffer> {
  const pages = numbersOf(count);
  return new Map([
    [CATALOG, catalog],
    [ROOT, tree(pages, said)],
    [FONT, font],
    [TEXT, stream('/Filter/FlateDecode', CONTENT)],
    ...pages.map((number) => [number, page(ROOT)] as const),
  ]);
}

/** The objects, a table of where each is, and the trailer. `before`: the file that this is an update of. */
function withTable(objects: Objects, trailer: string, before: Buffer = bytes(HEADER)): Buffer {
  const parts: Buffer[] = [before];
  const sections: string[] = [];
  let offset = before.length;
  for (const [number, body] of objects) {
    const object = written(number, body);
    sections.push(`${number} 1\n${String(offset).padStart(10, '0')} 00000 n \n`);
    parts.push(object);
    offset += object.length;
  }
  const free = '0 1\n0000000000 65535 f \n';
  const size = Math.max(...objects.keys()) + 1;
  const end = `xref\n${free}${sections.join('')}trailer\n<</Size ${size}/Root ${reference(CATALOG)}${trailer}>>\nstartxref\n${offset}\n%%EOF\n`;
  return Buffer.concat([...parts, bytes(end)]);
}

/** Where an object is: at an offset, or in an object stream, at an index. */
type Entry = readonly [type: 1 | 2, where: number, index: number];

/** As hosts get most files today: the objects are packed into a stream, and so is the table. */
function packed(objects: Objects, trailer = '', seal: Seal = (_, data) => data, open: Objects = new Map()): Buffer {
  const [container, table] = [10, 11];
  const inside = [...objects].filter(([number]) => number !== TEXT);
  let length = 0;
  const index = inside.map(([number, body]) => {
    const entry = `${number} ${length} `;
    length += body.length + 1;
    return entry;
  });
  const head = bytes(index.join(''));
  const data = deflateSync(Buffer.concat([head, ...inside.flatMap(([, body]) => [body, bytes('\n')])]));
  const outside: (readonly [number: number, body: Buffer])[] = [
    ...open,
    [TEXT, stream('/Filter/FlateDecode', seal(TEXT, CONTENT))],
    [
      container,
      stream(`/Type/ObjStm/N ${inside.length}/First ${head.length}/Filter/FlateDecode`, seal(container, data)),
    ],
  ];
  const entries = new Map<number, Entry>(inside.map(([number], at) => [number, [2, container, at]]));
  const parts: Buffer[] = [bytes(HEADER)];
  let offset = HEADER.length;
  for (const [number, body] of outside) {
    entries.set(number, [1, offset, 0]);
    parts.push(written(number, body));
    offset += (parts.at(-1) as Buffer).length;
  }
  entries.set(table, [1, offset, 0]);
  const size = Math.max(...entries.keys()) + 1;
  const rows = Array.from({ length: size }, (_, number) => rowOf(entries.get(number)));
  const dictionary = `/Type/XRef/Size ${size}/W[1 4 2]/Root ${reference(CATALOG)}${trailer}/Filter/FlateDecode`;
  parts.push(written(table, stream(dictionary, deflateSync(Buffer.concat(rows)))));
  return Buffer.concat([...parts, bytes(`startxref\n${offset}\n%%EOF\n`)]);
}

function rowOf([type, where, index]: Entry | readonly [0, 0, 0] = [0, 0, 0]): Buffer {
  const row = Buffer.alloc(7);
  row.writeUInt8(type);
  row.writeUInt32BE(where, 1);
  row.writeUInt16BE(index, 5);
  return row;
}

/** Encrypts the data of an object. */
type Seal = (number: number, data: Buffer) => Buffer;

const PADDING = Buffer.from('28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a', 'hex');
const md5 = (...parts: readonly Buffer[]) => createHash('md5').update(Buffer.concat(parts)).digest();

/** The cipher of the format's oldest encryption, which every viewer opens where the password is empty. */
function rc4(key: Buffer, data: Buffer): Buffer {
  const state = Uint8Array.from({ length: 256 }, (_, index) => index);
  const swap = (a: number, b: number) => {
    [state[a], state[b]] = [state[b] as number, state[a] as number];
  };
  for (let i = 0, j = 0; i < 256; i++) {
    j = (j + (state[i] as number) + (key[i % key.length] as number)) & 255;
    swap(i, j);
  }
  let [i, j] = [0, 0];
  return data.map((byte) => {
    i = (i + 1) & 255;
    j = (j + (state[i] as number)) & 255;
    swap(i, j);
    return byte ^ (state[((state[i] as number) + (state[j] as number)) & 255] as number);
  }) as Buffer;
}

function encrypted(): Buffer {
  const [permissions, identity, dictionary] = [-4, Buffer.alloc(16, 7), 12];
  const owner = rc4(md5(PADDING).subarray(0, 5), PADDING);
  const word = Buffer.alloc(4);
  word.writeInt32LE(permissions);
  const key = md5(PADDING, owner, word, identity).subarray(0, 5);
  const seal: Seal = (number, data) =>
    rc4(md5(key, Buffer.from([number & 255, (number >> 8) & 255, 0, 0, 0])).subarray(0, 10), data);
  const hex = (data: Buffer) => `<${data.toString('hex')}>`;
  const terms = `<</Filter/Standard/V 1/R 2/O${hex(owner)}/U${hex(rc4(key, PADDING))}/P ${permissions}>>`;
  const trailer = `/Encrypt ${reference(dictionary)}/ID[${hex(identity)}${hex(identity)}]`;
  return packed(documentOf(PAGES), trailer, seal, new Map([[dictionary, bytes(terms)]]));
}

/** One page that is in the tree many times. */
function sharedKids(): Buffer {
  const objects = documentOf(1).set(ROOT, tree(Array(PAGES).fill(FIRST_PAGE), PAGES));
  return withTable(objects, '');
}

/** The same in two levels: each doubles what the one below it has, for a few bytes. */
function sharedNodes(): Buffer {
  const inNode = 15;
  const objects = documentOf(1)
    .set(ROOT, tree(Array(PAGES / inNode).fill(NODE), PAGES))
    .set(NODE, tree(Array(inNode).fill(FIRST_PAGE), inNode, `/Parent ${reference(ROOT)}`));
  return withTable(objects, '');
}

/** A file of one page that was then given the others. */
function updated(): Buffer {
  const first = withTable(documentOf(1), '');
  const offset = /startxref\n(\d+)\n%%EOF\n$/.exec(first.toString('latin1'))?.[1];
  const changed = documentOf(PAGES);
  for (const number of [CATALOG, FONT, TEXT]) changed.delete(number);
  return withTable(changed, `/Prev ${offset}`, first);
}

/** Names with their letters as figures, which are the same names to a viewer. */
function escapedNames(): Buffer {
  const escaped = (body: Buffer) =>
    bytes(body.toString('latin1').replaceAll('/Type/Page', '/T#79pe/#50age').replaceAll('/Count', '/C#6funt'));
  const objects = [...documentOf(PAGES)].map(
    ([number, body]) => [number, number === TEXT ? body : escaped(body)] as const,
  );
  return withTable(new Map(objects), '');
}

const WAYS = {
  'which share their contents': () => withTable(documentOf(PAGES), ''),
  'which are in an object stream': () => packed(documentOf(PAGES)),
  'which are one page, named 300 times': sharedKids,
  'which are one page in a tree that repeats it': sharedNodes,
  'which an update of the file adds': updated,
  'which are encrypted with an empty password': encrypted,
  'whose objects have escaped names': escapedNames,
  'of which it says that there is one': () => withTable(documentOf(PAGES, 1), ''),
} as const;

/** Each in base64. */
export const PDFS: readonly (readonly [what: string, data: string])[] = Object.entries(WAYS).map(([what, make]) => [
  `a PDF of ${PAGES} pages, ${what}`,
  fileOf(make(), { pages: PAGES }),
]);
