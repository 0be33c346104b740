/**
 * The objects of a PDF, wherever a reader could look for them: by the cross-reference tables, or by searching the
 * file, as readers do when those are broken. A file in which the two could differ is refused.
 */
import { inflateSync } from 'node:zlib';
import {
  isBlank,
  isDigit,
  isOddBlank,
  isRegular,
  type PdfDictionary,
  PdfSyntax,
  type PdfValue,
  Reference,
  UNKEPT,
} from './pdf-syntax.ts';

/** A manual of 600 pages, in which everything is a link, has 20,000 objects with 320,000 values in 2.6 MB. */
const MAX_OBJECTS = 30_000;
const MAX_VALUES = 500_000;
/** Of the text that is read as values, without the data of streams. */
const MAX_SYNTAX_BYTES = 4_000_000;
/** Of all object streams and cross-reference streams together, inflated. Each has some 100 objects. */
const MAX_INFLATED_BYTES = 4_000_000;
const MAX_INFLATED_STREAMS = 500;
/** By the standard. Beyond it readers differ in what number it is. */
const MAX_NUMBER = 8_388_607;
/** Of the letters `obj`, which each object has twice. */
const MAX_OCCURRENCES = 4 * MAX_OBJECTS;

export interface PdfObject {
  readonly value: PdfValue;
  /** Where the data begins, if it is a stream. */
  readonly data?: number;
  /** Where it is: the offset of its number, or a place in an object stream. */
  readonly place: number;
}

/**
 * The place of what is in an object stream: below 0, and different for each. NaN, which is no place, where there can
 * be none.
 */
export function placeInStream(stream: number, index: number): number {
  return index < MAX_OBJECTS ? -1 - stream * MAX_OBJECTS - index : Number.NaN;
}

export class PdfObjects {
  readonly bytes: Buffer;
  readonly #objects = new Map<number, PdfObject>();
  readonly #allowance = { bytes: MAX_SYNTAX_BYTES, values: MAX_VALUES };
  #inflatedBytes = 0;
  #inflatedStreams = 0;

  /** Undefined if the file has anything that readers could read differently, or too much of anything. */
  static read(bytes: Buffer): PdfObjects | undefined {
    const objects = new PdfObjects(bytes);
    return objects.#readFile() && objects.#readObjectStreams() ? objects : undefined;
  }

  private constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  entries(): Iterable<[number, PdfObject]> {
    return this.#objects;
  }

  get(number: number): PdfObject | undefined {
    return this.#objects.get(number);
  }

  /** What a value stands for, if it is a reference. */
  resolve(value: PdfValue | undefined): PdfValue | undefined {
    return value instanceof Reference ? this.#objects.get(value.number)?.value : value;
  }

  /** The value at an offset, and what follows. Undefined also when all values of the file together are too long. */
  valueAt(bytes: Buffer, at: number): { readonly value: PdfValue; readonly syntax: PdfSyntax } | undefined {
    const syntax = new PdfSyntax(bytes, at, this.#allowance);
    const value = syntax.value();
    syntax.skipBlanks();
    this.#allowance.bytes -= syntax.at - at;
    return value === undefined ? undefined : { value, syntax };
  }

  /** The data of an object stream or a cross-reference stream, decoded. */
  streamData({ value, data }: PdfObject): Buffer | undefined {
    if (!(value instanceof Map) || data === undefined || AMBIGUOUS.some((name) => value.has(name))) return undefined;
    const length = this.resolve(value.get('/Length'));
    if (!isCount(length) || !END_OF_STREAM.test(this.bytes.toString('latin1', data + length, data + length + 16))) {
      return undefined;
    }
    const raw = this.bytes.subarray(data, data + length);
    const filter = onlyItem(value.get('/Filter'));
    const settings = onlyItem(value.get('/DecodeParms')) ?? UNKEPT;
    if (filter === undefined) return settings === UNKEPT ? raw : undefined;
    const inflated = filter === '/FlateDecode' ? this.#inflate(raw) : undefined;
    if (inflated === undefined || settings === UNKEPT) return inflated;
    return settings instanceof Map ? withoutPredictor(inflated, settings) : undefined;
  }

  /** Every object that the file spells. */
  #readFile(): boolean {
    let occurrences = 0;
    for (let at = this.bytes.indexOf('obj'); at >= 0; at = this.bytes.indexOf('obj', at + 3)) {
      if (++occurrences > MAX_OCCURRENCES) return false;
      const header = headerBefore(this.bytes, at);
      const isLongerWord = isRegular(this.bytes[at + 3]);
      if (header === undefined || (header === 'odd' && isLongerWord)) continue;
      if (header === 'odd' || isLongerWord) return false;
      const read = this.valueAt(this.bytes, at + 3);
      if (read === undefined) return false;
      const { value, syntax } = read;
      const end = syntax.word();
      const data = end === 'stream' ? afterLineEnd(this.bytes, syntax.at) : undefined;
      if (end !== 'endobj' && data === undefined) return false;
      const object = { value, place: header.start, ...(data === undefined ? {} : { data }) };
      if (!this.#add(header.number, object)) return false;
    }
    return true;
  }

  #readObjectStreams(): boolean {
    for (const [number, object] of [...this.#objects]) {
      if (!(object.value instanceof Map) || object.value.get('/Type') !== '/ObjStm') continue;
      if (!this.#readObjectStream(number, object, object.value)) return false;
    }
    return true;
  }

  /**
   * The numbers of the objects and where each begins, and then the objects, in this order and with nothing in between.
   */
  #readObjectStream(stream: number, object: PdfObject, dictionary: PdfDictionary): boolean {
    const [count, first] = [dictionary.get('/N'), dictionary.get('/First')];
    const data = this.streamData(object);
    if (data === undefined || !isCount(count) || !isCount(first) || count > MAX_OBJECTS) return false;
    const places: { readonly number: number; readonly start: number }[] = [];
    const table = new PdfSyntax(data, 0, { bytes: first, values: 0 });
    for (let index = 0; index < count; index++) {
      const [number, start] = [table.integer(), table.integer()];
      if (number === undefined || start === undefined) return false;
      places.push({ number, start: first + start });
    }
    for (const [index, { number, start }] of places.entries()) {
      const read = this.valueAt(data, start);
      if (read === undefined) return false;
      if (read.syntax.at !== (places[index + 1]?.start ?? data.length)) return false;
      if (!this.#add(number, { value: read.value, place: placeInStream(stream, index) })) return false;
    }
    return true;
  }

  /** False if there are too many, or if readers could take either of two. */
  #add(number: number, object: PdfObject): boolean {
    if (this.#objects.has(number) || this.#objects.size >= MAX_OBJECTS || number > MAX_NUMBER) return false;
    this.#objects.set(number, object);
    return true;
  }

  #inflate(data: Buffer): Buffer | undefined {
    const maxOutputLength = MAX_INFLATED_BYTES - this.#inflatedBytes;
    if (++this.#inflatedStreams > MAX_INFLATED_STREAMS || maxOutputLength <= 0) return undefined;
    try {
      const inflated = inflateSync(data, { maxOutputLength });
      this.#inflatedBytes += inflated.length;
      return inflated;
    } catch {
      return undefined;
    }
  }
}

const DIGITS = /^\d{1,10}$/;
/** Some readers take the data from a file, or the filter under another name. */
const AMBIGUOUS = ['/F', '/FFilter', '/FDecodeParms', '/DP'];
const END_OF_STREAM = /^(?:\r\n|\r|\n)?endstream(?![!-~])/;

export function isCount(value: PdfValue | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

/** The one item of an array, or what is no array. An array of more or none stands for itself. */
function onlyItem(value: PdfValue | undefined): PdfValue | undefined {
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}

/**
 * The number that an `obj` at this offset gives to what follows. Undefined if the letters are part of another word, or
 * of none that makes an object; odd if some readers would find a number there.
 */
function headerBefore(
  bytes: Buffer,
  at: number,
): { readonly number: number; readonly start: number } | 'odd' | undefined {
  if (!isBlank(bytes[at - 1])) return isDigit(bytes[at - 1]) || isOddBlank(bytes[at - 1]) ? 'odd' : undefined;
  const afterGeneration = blanksBefore(bytes, at);
  const generation = digitsBefore(bytes, afterGeneration);
  const end = blanksBefore(bytes, generation);
  const start = digitsBefore(bytes, end);
  const number = bytes.toString('latin1', start, Math.min(end, start + 11));
  const isPlain =
    generation < afterGeneration && end < generation && DIGITS.test(number) && !isRegular(bytes[start - 1]);
  return isPlain && start > 0 ? { number: Number(number), start } : 'odd';
}

function blanksBefore(bytes: Buffer, end: number): number {
  let at = end;
  while (isBlank(bytes[at - 1])) at--;
  return at;
}

function digitsBefore(bytes: Buffer, end: number): number {
  let at = end;
  while (isDigit(bytes[at - 1])) at--;
  return at;
}

const [NEWLINE, RETURN] = [0x0a, 0x0d];

/** Where data begins after the word `stream`, which a newline ends. */
function afterLineEnd(bytes: Buffer, at: number): number | undefined {
  if (bytes[at] === NEWLINE) return at + 1;
  return bytes[at] === RETURN && bytes[at + 1] === NEWLINE ? at + 2 : undefined;
}

/**
 * The filters of PNG that cross-reference streams have: a row as it is, or as what it differs in from the row above.
 */
const [NONE, UP] = [0, 2];
const MAX_COLUMNS = 64;

/** Undoes the prediction, of rows of bytes alone. */
function withoutPredictor(data: Buffer, settings: PdfDictionary): Buffer | undefined {
  const [predictor = 1, columns = 1] = [settings.get('/Predictor'), settings.get('/Columns')];
  if (predictor === 1) return data;
  if (!isCount(predictor) || predictor < 10 || predictor > 15 || !isCount(columns) || columns > MAX_COLUMNS)
    return undefined;
  if ((settings.get('/Colors') ?? 1) !== 1 || (settings.get('/BitsPerComponent') ?? 8) !== 8) return undefined;
  const rows = data.length / (columns + 1);
  if (!Number.isInteger(rows) || columns === 0) return undefined;
  const plain = Buffer.alloc(rows * columns);
  for (let row = 0; row < rows; row++) {
    const from = row * (columns + 1);
    const filter = data[from];
    if (filter !== NONE && filter !== UP) return undefined;
    for (let column = 0; column < columns; column++) {
      const at = row * columns + column;
      const above = filter === UP && row > 0 ? (plain[at - columns] as number) : 0;
      plain[at] = (data[from + 1 + column] as number) + above;
    }
  }
  return plain;
}
