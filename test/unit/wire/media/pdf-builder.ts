/**
 * Writes PDFs for tests: any objects, in any of the ways in which a file can hold them, with tables that agree with
 * them.
 */
import { deflateSync } from 'node:zlib';

/** What is between `obj` and `endobj`, by the number of the object. */
export type PdfBodies = Readonly<Record<number, string>>;

/** How the objects are written: one by one, or packed into streams; and how the tables are. */
export type PdfForm = 'plain' | 'packed' | 'predicted';

export interface PdfOptions {
  readonly form?: PdfForm;
  /** Members of the trailer other than its size and root. */
  readonly trailer?: string;
  /** Changes the file before its tables are written. */
  readonly append?: string;
  /** Where the tables say that objects are, where that is not where they are. */
  readonly places?: Readonly<Record<number, number>>;
}

/** A file of these objects. The catalog is object 1. */
export function pdfOf(
  bodies: PdfBodies,
  { form = 'plain', trailer = '', append = '', places = {} }: PdfOptions = {},
): Buffer {
  const file = new PdfFile();
  const numbers = Object.keys(bodies).map(Number);
  if (form === 'plain') {
    for (const number of numbers) file.add(number, bodies[number] as string);
    file.text(append);
    return file.withTable(trailer, places);
  }
  const top = Math.max(...numbers) + 1;
  const isStream = (number: number) => (bodies[number] as string).includes('stream');
  for (const number of numbers.filter(isStream)) file.add(number, bodies[number] as string);
  const packed = numbers.filter((number) => !isStream(number));
  file.addStream(top, packed, bodies);
  file.text(append);
  return file.withStreamTable(top + 1, { trailer, isPredicted: form === 'predicted', places });
}

/** An object stream with these objects. `table` is what it says of where they begin. */
export function objectStream(entries: readonly (readonly [number: number, body: string])[], members = ''): string {
  let bodies = '';
  let table = '';
  for (const [number, body] of entries) {
    table += `${number} ${bodies.length} `;
    bodies += `${body} `;
  }
  return packedStream(entries.length, table, bodies, members);
}

export function packedStream(count: number, table: string, bodies: string, members = ''): string {
  const data = deflateSync(table + bodies).toString('latin1');
  return stream(`/Type /ObjStm /N ${count} /First ${table.length} /Filter /FlateDecode ${members}`, data);
}

export function stream(members: string, data: string): string {
  return `<< /Length ${data.length} ${members} >>\nstream\n${data}\nendstream`;
}

class PdfFile {
  #text = '%PDF-1.7\n';
  /** The kind of a place, and its two figures, by number. */
  readonly #places = new Map<number, readonly [number, number, number]>();

  text(text: string): void {
    this.#text += text;
  }

  add(number: number, body: string): void {
    this.#places.set(number, [1, this.#text.length, 0]);
    this.#text += `${number} 0 obj\n${body}\nendobj\n`;
  }

  addStream(stream: number, numbers: readonly number[], bodies: PdfBodies): void {
    for (const [index, number] of numbers.entries()) this.#places.set(number, [2, stream, index]);
    this.add(stream, objectStream(numbers.map((number) => [number, bodies[number] as string])));
  }

  withTable(trailer: string, moved: Readonly<Record<number, number>>): Buffer {
    const start = this.#text.length;
    const size = Math.max(...this.#places.keys()) + 1;
    const entries = Array.from({ length: size }, (_, number) => {
      const [, offset] = this.#places.get(number) ?? [];
      if (offset === undefined) return '0000000000 65535 f \n';
      return `${String(moved[number] ?? offset).padStart(10, '0')} 00000 n \n`;
    });
    const table = `xref\n0 ${size}\n${entries.join('')}trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\n`;
    return Buffer.from(`${this.#text}${table}startxref\n${start}\n%%EOF\n`, 'latin1');
  }

  withStreamTable(
    number: number,
    {
      trailer,
      isPredicted,
      places,
    }: { trailer: string; isPredicted: boolean; places: Readonly<Record<number, number>> },
  ): Buffer {
    const start = this.#text.length;
    this.#places.set(number, [1, start, 0]);
    const rows = Array.from({ length: number + 1 }, (_, at) => {
      const [kind, second, third] = this.#places.get(at) ?? [0, 0, 0];
      const row = Buffer.alloc(7);
      row.writeUInt8(kind, 0);
      row.writeUInt32BE(places[at] ?? second, 1);
      row.writeUInt16BE(third, 5);
      return row;
    });
    const data = deflateSync(isPredicted ? predicted(rows) : Buffer.concat(rows)).toString('latin1');
    const settings = isPredicted ? '/DecodeParms << /Predictor 12 /Columns 7 >>' : '';
    const members = `/Type /XRef /Size ${number + 1} /W [1 4 2] /Root 1 0 R /Filter /FlateDecode ${settings} ${trailer}`;
    this.add(number, stream(members, data));
    return Buffer.from(`${this.#text}startxref\n${start}\n%%EOF\n`, 'latin1');
  }
}

/** Each row as what it differs in from the one above, as most writers have it. */
function predicted(rows: readonly Buffer[]): Buffer {
  return Buffer.concat(
    rows.map((row, index) => Buffer.from([2, ...row.map((byte, column) => byte - (rows[index - 1]?.[column] ?? 0))])),
  );
}
