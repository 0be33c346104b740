/** The tables by which readers of a PDF find its objects: all of them have to agree with where the objects are. */
import { isCount, type PdfObject, type PdfObjects, placeInStream } from './pdf-objects.ts';
import { isBlank, isRegular, type PdfDictionary, PdfSyntax, Reference } from './pdf-syntax.ts';

/** Of all tables together. Each has the objects that were added or changed. */
const MAX_ENTRIES = 100_000;
/** Of the words that tables begin with. */
const MAX_OCCURRENCES = 1_000;
const MAX_TABLE_BYTES = 4_000_000;

const ENTRY_BYTES = 20;
const ENTRY = /^(\d{10}) \d{5} ([fn])(?: \r| \n|\r\n)$/;
const DIGITS = /^\d{1,10}$/;
const START = 'startxref';
const TRAILER = 'trailer';

/**
 * Whether readers find each object where it is, whichever table they go by. Otherwise one could take an object for
 * another, and a page for many. There is at least one table that names the catalog.
 */
export function areReferencesSound(objects: PdfObjects): boolean {
  return new References(objects).areSound();
}

class References {
  readonly #objects: PdfObjects;
  readonly #bytes: Buffer;
  #entries = 0;
  #occurrences = 0;
  #tableBytes = MAX_TABLE_BYTES;
  #roots = 0;

  constructor(objects: PdfObjects) {
    this.#objects = objects;
    this.#bytes = objects.bytes;
  }

  areSound(): boolean {
    const areTablesSound =
      this.#checkEach('xref', (at) => this.#checkTable(at)) && this.#checkEach(TRAILER, (at) => this.#checkTrailer(at));
    if (!areTablesSound) return false;
    for (const [, object] of this.#objects.entries()) {
      const { value, data } = object;
      if (data === undefined || !(value instanceof Map)) continue;
      const isTable = value.has('/W') || value.get('/Type') === '/XRef';
      if (isTable && !(this.#checkStream(object, value) && this.#checkRoot(value))) return false;
    }
    return this.#roots > 0;
  }

  #checkEach(word: string, check: (at: number) => boolean): boolean {
    for (let at = this.#bytes.indexOf(word); at >= 0; at = this.#bytes.indexOf(word, at + word.length)) {
      if (++this.#occurrences > MAX_OCCURRENCES || !check(at + word.length)) return false;
    }
    return true;
  }

  /** Within a longer word too: readers are led right there. */
  #checkTable(from: number): boolean {
    const isStart = this.#bytes.toString('latin1', Math.max(0, from - START.length), from) === START;
    const syntax = new PdfSyntax(this.#bytes, from, { bytes: this.#tableBytes, values: 0 });
    const isSound = isStart ? isStartSound(syntax) : this.#areSectionsSound(syntax);
    this.#tableBytes -= syntax.at - from;
    return isSound;
  }

  /** Sections, each of which says of what number its first entry is, and how many there are. */
  #areSectionsSound(syntax: PdfSyntax): boolean {
    let word = syntax.word();
    while (word !== TRAILER) {
      const count = syntax.word();
      if (!DIGITS.test(word) || !DIGITS.test(count) || ++this.#entries > MAX_ENTRIES) return false;
      syntax.skipBlanks();
      for (let index = 0; index < Number(count); index++, syntax.at += ENTRY_BYTES) {
        const entry = ENTRY.exec(this.#bytes.toString('latin1', syntax.at, syntax.at + ENTRY_BYTES));
        if (entry === null || ++this.#entries > MAX_ENTRIES) return false;
        if (entry[2] === 'n' && this.#objects.get(Number(word) + index)?.place !== Number(entry[1])) return false;
      }
      word = syntax.word();
    }
    return true;
  }

  /** Readers that search for a trailer take no longer word for one. */
  #checkTrailer(from: number): boolean {
    if (isRegular(this.#bytes[from]) || isRegular(this.#bytes[from - TRAILER.length - 1])) return true;
    const trailer = this.#objects.valueAt(this.#bytes, from)?.value;
    return trailer instanceof Map && this.#checkRoot(trailer);
  }

  /** A catalog has to be one in which the pages are found. */
  #checkRoot(trailer: PdfDictionary): boolean {
    const root = trailer.get('/Root');
    if (root === undefined) return true;
    const catalog = this.#objects.resolve(root);
    this.#roots++;
    return root instanceof Reference && catalog instanceof Map && catalog.has('/Pages');
  }

  /** The same in binary: a kind, and two figures that depend on it. */
  #checkStream(object: PdfObject, dictionary: PdfDictionary): boolean {
    const data = this.#objects.streamData(object);
    const widths = dictionary.get('/W');
    const sections = dictionary.get('/Index') ?? [0, dictionary.get('/Size') ?? 0];
    if (data === undefined || !Array.isArray(widths) || widths.length !== 3 || !widths.every(isWidth)) return false;
    if (!Array.isArray(sections) || sections.length % 2 !== 0 || !sections.every(isCount)) return false;
    const entryBytes = widths.reduce((sum, width) => sum + width, 0);
    let at = 0;
    for (let section = 0; section < sections.length; section += 2) {
      const [first, count] = [sections[section] as number, sections[section + 1] as number];
      for (let index = 0; index < count; index++, at += entryBytes) {
        if (++this.#entries > MAX_ENTRIES || at + entryBytes > data.length) return false;
        if (!this.#checkBinaryEntry(data, at, first + index, widths)) return false;
      }
    }
    return at === data.length;
  }

  #checkBinaryEntry(data: Buffer, at: number, number: number, widths: readonly number[]): boolean {
    const [kindBytes = 0, secondBytes = 0, thirdBytes = 0] = widths;
    const kind = kindBytes === 0 ? IN_FILE : data.readUIntBE(at, kindBytes);
    const second = secondBytes === 0 ? 0 : data.readUIntBE(at + kindBytes, secondBytes);
    const third = thirdBytes === 0 ? 0 : data.readUIntBE(at + kindBytes + secondBytes, thirdBytes);
    if (kind === FREE) return true;
    const place = kind === IN_FILE ? second : placeInStream(second, third);
    return kind <= IN_STREAM && this.#objects.get(number)?.place === place;
  }
}

const PERCENT = 0x25;

/** Where the last table is follows, and then nothing that could be taken for one. */
function isStartSound(syntax: PdfSyntax): boolean {
  if (syntax.integer() === undefined) return false;
  while (isBlank(syntax.bytes[syntax.at])) syntax.at++;
  return syntax.at >= syntax.bytes.length || syntax.bytes[syntax.at] === PERCENT;
}

const [FREE, IN_FILE, IN_STREAM] = [0, 1, 2];
const MAX_WIDTH = 6;

function isWidth(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_WIDTH;
}
