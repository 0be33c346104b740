/** Reads a form with files (multipart/form-data, RFC 7578), and rewrites it for a host with changed fields. */
import { isUtf8 } from 'node:buffer';
import type { BodyResult, Form, JsonBody } from './body.ts';

const MAX_PARTS = 200;
const MAX_HEADER_BYTES = 4 * 1024;
/** Maximum length of a text field. Settings are never longer. */
const MAX_FIELD_BYTES = 1024 * 1024;

const CONTENT_TYPE =
  /^multipart\/form-data *;(?:[^"]*;)? *boundary=(?:"(?<quoted>[\w'()+,./:=? -]{1,70})"|(?<plain>[\w'()+./:=?-]{1,70})) *(?:;|$)/i;
/** The first line of a form, for forms without a declared boundary. */
const FIRST_LINE = /^--(?<boundary>[\w'()+,./:=? -]{1,70})\r\n/;

const EXPECTED = 'The request body is not a form. Expected multipart/form-data';

/**
 * Reads a form. Accepts only syntax that all hosts parse alike; otherwise a host could read other fields than the checked
 * ones. Only names that end with `[]` may repeat. `contentType`: undefined if unknown.
 */
export function readForm(bytes: Buffer, contentType: string | undefined): BodyResult {
  const boundary = boundaryOf(bytes, contentType);
  if (boundary === undefined) return problem(`${EXPECTED}, with its boundary in the content type.`);
  const fields: Record<string, unknown> = Object.create(null);
  const places = new Map<string, { start: number; end: number }>();
  const delimiter = Buffer.from(`--${boundary}`, 'latin1');
  let at = delimiter.length;
  if (!bytes.subarray(0, at).equals(delimiter)) return problem(`${EXPECTED} that begins with its boundary.`);
  for (let parts = 0; ; parts++) {
    const line = bytes.toString('latin1', at, at + 2);
    if (line === '--') break;
    if (line !== '\r\n' || parts >= MAX_PARTS) return problem(`${EXPECTED} of at most ${MAX_PARTS} parts.`);
    const headerEnd = bytes.indexOf('\r\n\r\n', at);
    // Some hosts accept a delimiter after any line end, or without one.
    const next = headerEnd < 0 ? -1 : bytes.indexOf(delimiter, headerEnd + 2);
    const end = next - LINE_END_BYTES;
    if (headerEnd < 0 || end < headerEnd + 4 || headerEnd - at > MAX_HEADER_BYTES || !endsLine(bytes, next)) {
      return problem(`${EXPECTED} whose parts each have headers, content without the boundary, and an end.`);
    }
    const part = readHead(bytes.subarray(at + 2, headerEnd));
    if (typeof part === 'string') return problem(`The form has a part that not every host reads alike: ${part}.`);
    const [start, { name }] = [headerEnd + 4, part];
    const value = part.isFile ? { bytes: bytes.subarray(start, end) } : textOf(bytes.subarray(start, end));
    if (value === undefined) return problem(`The field ${JSON.stringify(name)} of the form is too long, or not UTF-8.`);
    if (name.endsWith('[]')) fields[name] = [...((fields[name] as unknown[] | undefined) ?? []), value];
    else if (fields[name] !== undefined) return problem(`Duplicate field in the form: ${JSON.stringify(name)}.`);
    else fields[name] = value;
    if (!part.isFile) places.set(name, { start, end });
    at = next + delimiter.length;
  }
  if (bytes.toString('latin1', at + 2).replace('\r\n', '') !== '')
    return problem(`${EXPECTED} with nothing behind its end.`);
  return { ok: true, body: bodyOf(fields, { boundary, bytes, places }) };
}

const LINE_END_BYTES = 2;

function endsLine(bytes: Buffer, at: number): boolean {
  return bytes.toString('latin1', at - LINE_END_BYTES, at) === '\r\n';
}

/** Returns the form as a request body without a text. */
function bodyOf(fields: Readonly<Record<string, unknown>>, form: Form): JsonBody {
  const members = Object.keys(fields).map((key) => ({ key, keyStart: 0, valueStart: 0, valueEnd: 0 }));
  return { text: '', fields, members, form };
}

function boundaryOf(bytes: Buffer, contentType: string | undefined): string | undefined {
  if (contentType === undefined) return FIRST_LINE.exec(bytes.toString('latin1', 0, 100))?.groups?.boundary;
  const { quoted, plain } = CONTENT_TYPE.exec(contentType)?.groups ?? {};
  const boundary = quoted ?? plain;
  return boundary?.endsWith(' ') ? undefined : boundary;
}

interface Head {
  readonly name: string;
  readonly isFile: boolean;
}

const DISPOSITION =
  /^content-disposition: *form-data; *name="([\w.-]{1,100}(?:\[[\w.-]{0,100}\])*)"(; *filename="[^"\r\n]{0,1000}"(?:; *filename\*=[^;"\r\n]{1,1000})?)?$/i;
/** This field would set the encoding of all other fields (RFC 7578, section 4.6). */
const CHARSET_FIELD = '_charset_';
/** Other headers that a part may have. */
const HARMLESS =
  /^(?:content-type: *[\w!#$&^.+/;= "*-]{1,200}|content-length: *\d{1,12}|content-transfer-encoding: *(?:binary|8bit|7bit))$/i;
/** Headers that would change the meaning of the content: nested forms, and encodings that do not extend ASCII. */
const HARMFUL =
  /^content-type: *(?:multipart|message)\/|charset(?! *= *"?(?:utf-8|us-ascii|iso-8859-\d{1,2}|windows-125\d)"? *(?:;|$))/i;

/** Returns the name of a part, or the problem with its headers. */
function readHead(head: Buffer): Head | string {
  const lines = head.toString('utf8').split('\r\n');
  const [disposition, ...others] = lines.filter((line) => /^content-disposition/i.test(line));
  const [, name, file] = DISPOSITION.exec(disposition ?? '') ?? [];
  if (name === undefined || name === CHARSET_FIELD || others.length > 0) return 'its Content-Disposition';
  const odd = lines.some((line) => line !== disposition && (!HARMLESS.test(line) || HARMFUL.test(line)));
  return odd ? 'a header that is no part of a form' : { name, isFile: file !== undefined };
}

function textOf(bytes: Buffer): string | undefined {
  return bytes.length <= MAX_FIELD_BYTES && isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}

/** Returns the form with these values set: slices of the body, without copying it. */
export function formWith({ boundary, bytes, places }: Form, values: ReadonlyMap<string, string>): readonly Buffer[] {
  const pieces: Buffer[] = [];
  const edits = [...values].map(([name, value]) => ({ value, name, place: places.get(name) }));
  for (const { name, value, place } of edits) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`;
    if (place === undefined) pieces.push(Buffer.from(`${head}${value}\r\n`));
  }
  let from = 0;
  for (const { value, place } of edits.toSorted((a, b) => (a.place?.start ?? 0) - (b.place?.start ?? 0))) {
    if (place === undefined) continue;
    pieces.push(bytes.subarray(from, place.start), Buffer.from(value));
    from = place.end;
  }
  return [...pieces, bytes.subarray(from)];
}

export function formContentType({ boundary }: Form): string {
  return `multipart/form-data; boundary=${/^[\w'+.-]+$/.test(boundary) ? boundary : `"${boundary}"`}`;
}

function problem(message: string): BodyResult {
  return { ok: false, problem: message };
}
