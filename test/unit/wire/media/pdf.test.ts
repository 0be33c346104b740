/** The pages of ordinary PDFs are counted, and a PDF that readers could read differently is not. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { pdfPages } from '../../../../src/wire/media/pdf.ts';
import {
  objectStream,
  type PdfBodies,
  type PdfForm,
  type PdfOptions,
  packedStream,
  pdfOf,
  stream,
} from './pdf-builder.ts';

const FIXTURES = new URL('fixtures/', import.meta.url);
/** Each is named after the program that wrote it, and its pages. */
const WRITTEN = readdirSync(FIXTURES).filter((name) => name.endsWith('.pdf'));
const FORMS: readonly PdfForm[] = ['plain', 'packed', 'predicted'];

const CATALOG = '<< /Type /Catalog /Pages 2 0 R >>';
const PAGE = '<< /Type /Page /Parent 2 0 R >>';

function pages(kids: readonly number[], members = `/Count ${kids.length}`): string {
  return `<< /Type /Pages /Kids [${kids.map((kid) => `${kid} 0 R`).join(' ')}] ${members} >>`;
}

/** Two pages and, with others, whatever else. */
function twoPages(others: PdfBodies = {}): PdfBodies {
  return { 1: CATALOG, 2: pages([3, 4]), 3: PAGE, 4: PAGE, ...others };
}

function text(bytes: Buffer): string {
  return bytes.toString('latin1');
}

describe('pages are counted', () => {
  for (const name of WRITTEN) {
    const expected = Number(/\d+(?=\.pdf$)/.exec(name)?.[0]);
    test(`as they are in a file of ${name.replace(/-\d+\.pdf$/, '')}`, () => {
      assert.equal(pdfPages(readFileSync(new URL(name, FIXTURES))), expected);
    });
  }

  for (const form of FORMS) {
    test(`in trees of any shape, written ${form}`, () => {
      fc.assert(
        fc.property(trees, (tree) => {
          const { bodies, count } = bodiesOf(tree);
          assert.equal(pdfPages(pdfOf(bodies, { form })), count);
        }),
      );
    });
  }

  const COUNTED: Readonly<Record<string, readonly [PdfBodies, number, PdfOptions?]>> = {
    'also a page that is in no tree': [twoPages({ 5: PAGE }), 3],
    'when kids and count stand elsewhere': [
      twoPages({ 2: '<< /Type /Pages /Kids 5 0 R /Count 6 0 R >>', 5: '[3 0 R 4 0 R]', 6: '2' }),
      2,
    ],
    'with comments between values': [twoPages({ 3: '<< /Type /Page % 1\n/Parent 2 0 R >>' }), 2],
    'with names that need their escapes': [twoPages({ 5: '<< /BaseFont /Arial#20Bold /X#2Ftype /Page >>' }), 2],
    'of a file for the web that counts them as well': [twoPages({ 5: '<< /Linearized 1 /N 2 >>' }), 2],
    'with the words of a file in a text': [
      twoPages({ 5: '(an object, pdftrailer or trailers, and << /Type /Page >> \\) (nested) endobj)' }),
      2,
    ],
    'with a length that stands elsewhere': [
      twoPages({ 5: '<< /Length 6 0 R /Type /ObjStm /N 0 /First 0 >>\nstream\n\nendstream', 6: '0' }),
      2,
    ],
  };
  for (const [name, [bodies, expected, options]] of Object.entries(COUNTED)) {
    test(name, () => assert.equal(pdfPages(pdfOf(bodies, options)), expected));
  }
});

describe('pages cannot be told', () => {
  const CHANGED: Readonly<Record<string, PdfBodies>> = {
    'of a page that is a kid twice': { 2: pages([3, 4, 3]) },
    'of a page with two parents': { 2: pages([3, 4, 5], '/Count 4'), 5: pages([4, 6]), 6: PAGE },
    'of kids that two parents share': {
      2: '<< /Type /Pages /Kids [5 0 R 6 0 R] /Count 4 >>',
      5: '<< /Type /Pages /Kids 7 0 R /Count 2 >>',
      6: '<< /Type /Pages /Kids 7 0 R /Count 2 >>',
      7: '[3 0 R 4 0 R]',
    },
    'of a circle': { 2: pages([3, 4, 2], '/Count 2') },
    'of a kid that is not there': { 2: pages([3, 4, 9]) },
    'of a kid that is no reference': { 2: '<< /Type /Pages /Kids [3 0 R 4 0 R << /Type /Page >>] /Count 2 >>' },
    'of a kid of no type': { 3: '<< /Parent 2 0 R >>' },
    'of a page with kids': { 3: '<< /Type /Page /Kids [4 0 R] >>', 2: pages([3], '/Count 1') },
    'of a page with a count': { 3: '<< /Type /Page /Count 1000 >>' },
    'of a parent without kids': { 2: '<< /Type /Pages /Count 2 >>' },
    'of a parent without a count': { 2: pages([3, 4], '') },
    'of a parent that counts more': { 2: pages([3, 4], '/Count 1000') },
    'of a parent in no tree': { 5: pages([3, 4]) },
    'of a tree that is one page': { 1: '<< /Type /Catalog /Pages 3 0 R >>', 2: 'null' },
    'of no page at all': { 2: pages([]), 3: 'null', 4: 'null' },
    'of two catalogs with one tree inside the other': {
      5: '<< /Type /Catalog /Pages 6 0 R >>',
      6: pages([2], '/Count 2'),
    },
    'of a catalog without pages': { 1: '<< /Type /Catalog >>' },
    'of a file for the web that counts others': { 5: '<< /Linearized 1 /N 1000 >>' },
    'of a member that is there twice': { 2: pages([3, 4], '/Count 2 /Kids [3 0 R 4 0 R]') },
    'of a name with needless escapes': { 2: pages([3, 4], '/Count 2 /K#69ds [3 0 R]') },
    'of a form that is laid out anew': { 5: '<< /XFA 6 0 R >>' },
    'of attached files': { 5: '<< /Type /Filespec /EF << /F 6 0 R >> >>' },
    'of a list of attached files': { 5: '<< /EmbeddedFiles 6 0 R >>' },
    'of a portfolio': { 1: '<< /Type /Catalog /Pages 2 0 R /Collection << >> >>' },
    'of templates': { 5: '<< /Templates 6 0 R >>' },
    'of a blank that is none to some': { 3: '<< /Type /Page\0/Parent 2 0 R >>' },
    'of a page whose kids are behind such a blank': { 3: '<< /Type /Page /Kids\v[4 0 R 4 0 R] >>' },
    'of a comment that ends differently to some': { 3: '<< /Type /Page % 1\r /Parent 2 0 R >>' },
    'of a text that does not end': { 5: '(text' },
    'of a value that does not exist': { 5: 'nul' },
    'of a hidden object in the data of a stream': { 5: stream('', '3 0 obj\n<< >>\nendobj') },
    'of a hidden object behind a comment': { 5: stream('', '9 0 % \nobj << /Type /Page >> endobj') },
    'of a hidden object behind a blank that is none to some': { 5: stream('', '9 0\0obj << /Type /Page >> endobj') },
    'of a hidden object behind a blank of other characters': { 5: stream('', '9 0\xa0obj << /Type /Page >> endobj') },
    'of an object stream with the object of another': { 5: objectStream([[3, PAGE]]) },
    'of an object stream that is not compressed as usual': {
      5: objectStream([[6, PAGE]], '/DecodeParms << /Predictor 2 >>'),
    },
    'of an object stream with data under another name': { 5: objectStream([[6, PAGE]], '/F (file)') },
    'of objects that overlap': { 5: packedStream(2, '6 0 7 0 ', PAGE) },
    'of objects that are not where the stream says': { 5: packedStream(2, '6 0 7 9 ', `${PAGE} ${PAGE}`) },
    'of fewer objects than the stream says': { 5: packedStream(9, '6 0 ', PAGE) },
    'of a stream that says another length': {
      5: stream('/Type /ObjStm /N 0 /First 0', 'data').replace('/Length 4', '/Length 0'),
    },
    'of a stream that does not inflate': { 5: stream('/Type /ObjStm /N 0 /First 0 /Filter /FlateDecode', 'data') },
    'of a stream with another filter': { 5: objectStream([[6, PAGE]]).replace('/FlateDecode', '/LZWDecode') },
    'of a deep nesting': { 5: '['.repeat(100) + ']'.repeat(100) },
  };
  for (const [name, change] of Object.entries(CHANGED)) {
    test(name, () => assert.equal(pdfPages(pdfOf(twoPages(change))), undefined));
  }

  test('of an encrypted file, whichever table says so', () => {
    for (const form of FORMS) assert.equal(pdfPages(pdfOf(twoPages(), { form, trailer: '/Encrypt 9 0 R' })), undefined);
  });

  test('when a table leads to another object, or into one', () => {
    const file = text(pdfOf(twoPages({ 14: '<< >>' })));
    const places = [file.indexOf('4 0 obj'), file.indexOf('14 0 obj') + 1, 0, 10 ** 9];
    for (const place of places.slice(1))
      assert.equal(pdfPages(pdfOf(twoPages({ 14: '<< >>' }), { places: { 4: place } })), undefined);
    assert.equal(pdfPages(pdfOf(twoPages(), { places: { 3: places[0] as number } })), undefined);
    for (const form of FORMS.slice(1)) assert.equal(pdfPages(pdfOf(twoPages(), { form, places: { 3: 4 } })), undefined);
  });

  const APPENDED: Readonly<Record<string, string>> = {
    'an object is changed later': '4 0 obj\n<< /Type /Page >>\nendobj\n',
    'a catalog is named that has no pages': 'trailer\n<< /Root 3 0 R >>\n',
    'a catalog is in the trailer itself': 'trailer\n<< /Root << /Type /Catalog /Pages 2 0 R >> >>\n',
    'an object stands behind other letters': 'x4 0 obj\n<< /Type /Page >>\nendobj\n',
    'a second table leads elsewhere': 'xref\n3 1\n0000000009 00000 n \ntrailer\n<< >>\n',
    'a second table that leads elsewhere is in a longer word': 'anxref\n3 1\n0000000009 00000 n \ntrailer\n<< >>\n',
    'a second table stands where the last one should be': 'startxref\n3 1\n0000000009 00000 n \ntrailer\n<< >>\n',
    'a second table is odd': 'xref\n3 1\n9 0 n\ntrailer\n<< >>\n',
    'an object has a number that readers cut off': '4294967299 0 obj\n<< >>\nendobj\n',
    'an object has no end': '9 0 obj\n<< >>\n',
    'the word for an object stands alone': 'an obj here',
  };
  for (const [name, append] of Object.entries(APPENDED)) {
    test(`when ${name}`, () => assert.equal(pdfPages(pdfOf(twoPages(), { append })), undefined));
  }

  test('when an object is changed later, though the table leads there', () => {
    const append = '4 0 obj\n<< /Type /Page >>\nendobj\n';
    const later = text(pdfOf(twoPages(), { append })).indexOf(append);
    assert.equal(pdfPages(pdfOf(twoPages(), { append, places: { 4: later } })), undefined);
  });

  test('without a header at the very start, without tables, and of an empty file', () => {
    const file = text(pdfOf(twoPages()));
    assert.equal(pdfPages(Buffer.from(file.replace('%PDF-1.7\n', '\n%PDF-1.\n'), 'latin1')), undefined);
    assert.equal(pdfPages(Buffer.from(file.slice(0, file.indexOf('xref')), 'latin1')), undefined);
    assert.equal(pdfPages(Buffer.alloc(0)), undefined);
  });

  const manyObjects = Array.from({ length: 31_000 }, (_, index) => `${index + 10} 0 obj 1 endobj`).join('\n');
  const manyStreams = Object.fromEntries(
    Array.from({ length: 501 }, (_, index) => [index + 5, packedStream(0, '', '')] as const),
  );
  const TOO_MUCH: Readonly<Record<string, readonly [PdfBodies, PdfOptions?]>> = {
    'too many objects': [{}, { append: manyObjects }],
    'too many words like those of objects': [{ 5: stream('', 'anobj '.repeat(130_000)) }],
    'too many values': [{ 5: `[${'1 '.repeat(600_000)}]` }],
    'too long values': [{ 5: `(${' '.repeat(5_000_000)})` }],
    'too many object streams': [manyStreams],
    'an object stream that inflates to too much': [{ 5: packedStream(0, '', ' '.repeat(5_000_000)) }],
    'too many entries in tables': [{}, { append: `xref\n${'0 0\n'.repeat(110_000)}trailer\n<< >>\n` }],
    'tables within the comments of tables': [
      {},
      { append: `${'xref %'.repeat(900)}${' '.repeat(9_000)}\n0 0\ntrailer\n<< >>\n` },
    ],
    'too many tables': [{}, { append: 'trailer\n<< >>\n'.repeat(1_100) }],
  };
  for (const [name, [bodies, options]] of Object.entries(TOO_MUCH)) {
    test(`of ${name}`, () => assert.equal(pdfPages(pdfOf(twoPages(bodies), options)), undefined));
  }
});

test('a file that is changed or cut in one place has the same pages, or they cannot be told', () => {
  const files = WRITTEN.map((name) => readFileSync(new URL(name, FIXTURES)));
  const change = fc.record({
    file: fc.constantFrom(...files),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    byte: fc.constantFrom(...Buffer.from('0123456789 /<>[]()%\n\0RPKe')),
    how: fc.constantFrom('replace', 'insert', 'remove', 'cut'),
  });
  fc.assert(
    fc.property(change, ({ file, at, byte, how }) => {
      const offset = Math.floor(at * file.length);
      const added = how === 'replace' || how === 'insert' ? [byte] : [];
      const rest = how === 'cut' ? '' : file.subarray(how === 'insert' ? offset : offset + 1);
      const changed = Buffer.concat([file.subarray(0, offset), Buffer.from(added), Buffer.from(rest)]);
      const count = pdfPages(changed);
      if (count !== undefined) assert.equal(count, pdfPages(file));
    }),
    { numRuns: 500 },
  );
});

/** A page, or what is below a parent. */
interface Tree {
  readonly kids: readonly Tree[] | undefined;
}

const { trees } = fc.letrec<{ trees: Tree; tree: Tree }>((tie) => ({
  trees: fc
    .record({ kids: fc.array(tie('tree'), { minLength: 1, maxLength: 4 }) })
    .filter((tree) => leavesOf(tree) > 0),
  tree: fc.oneof(
    { depthSize: 'small' },
    fc.record({ kids: fc.constant(undefined) }),
    fc.record({ kids: fc.array(tie('tree'), { maxLength: 4 }) }),
  ),
}));

function leavesOf({ kids }: Tree): number {
  return kids === undefined ? 1 : kids.reduce((sum, kid) => sum + leavesOf(kid), 0);
}

/** The objects of a tree, and the pages in it, counted as it is walked. */
function bodiesOf(tree: Tree): { readonly bodies: PdfBodies; readonly count: number } {
  const bodies: Record<number, string> = { 1: CATALOG };
  let next = 2;
  const add = ({ kids }: Tree): number => {
    const number = next++;
    bodies[number] = PAGE;
    if (kids !== undefined) bodies[number] = pages(kids.map(add), `/Count ${leavesOf({ kids })}`);
    return number;
  };
  add(tree);
  return { bodies, count: leavesOf(tree) };
}
