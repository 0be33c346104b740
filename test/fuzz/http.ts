/** A strict parser for the gateway's responses: anything that is not valid HTTP is a problem. */

export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly head: string;
  readonly body: Buffer;
}

export interface Reading {
  /** All complete responses, including interim ones. */
  readonly answers: readonly Answer[];
  /** The rest: the start of an incomplete response. */
  readonly rest: Buffer;
  /** What is not HTTP. */
  readonly problem: string | undefined;
}

/** Thrown for anything that is not HTTP. */
class NotHttp extends Error {}

const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) [ -~]+$/;
const HEADER_LINE = /^([A-Za-z-]+): ([ -~]*)$/;
const CHUNK_LINE = /^[0-9a-f]{1,8}$/i;
const LONGEST_CHUNK_LINE = 10;

export interface Circumstances {
  /** One of the responses may be to a HEAD request. */
  readonly mayLackBodies: boolean;
  /** The gateway has closed the connection, which ends a response without other framing. */
  readonly isClosed: boolean;
}

/** Parses the responses that arrived over a connection. */
export function readAnswers(bytes: Buffer, circumstances: Circumstances): Reading {
  const answers: Answer[] = [];
  let rest = bytes;
  try {
    for (let length = readAnswer(rest, answers, circumstances); length > 0; ) {
      rest = rest.subarray(length);
      length = readAnswer(rest, answers, circumstances);
    }
  } catch (error) {
    if (!(error instanceof NotHttp)) throw error;
    return { answers, rest, problem: error.message };
  }
  return { answers, rest, problem: undefined };
}

/** Parses a response and returns its length; 0 if it is incomplete. */
function readAnswer(bytes: Buffer, into: Answer[], circumstances: Circumstances): number {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return 0;
  const head = bytes.toString('latin1', 0, headEnd);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const status = Number(STATUS_LINE.exec(statusLine)?.[1] ?? fail(`status line ${JSON.stringify(statusLine)}`));
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = HEADER_LINE.exec(line) ?? fail(`header line ${JSON.stringify(line)}`);
    if (headers.has((name as string).toLowerCase())) fail(`the header ${name} twice`);
    headers.set((name as string).toLowerCase(), value as string);
  }
  const start = headEnd + 4;
  const body = readBody(bytes, start, status, headers, circumstances);
  if (body === undefined) return 0;
  into.push({ status, headers, head, body: body.bytes });
  return body.end;
}

function readBody(
  bytes: Buffer,
  start: number,
  status: number,
  headers: ReadonlyMap<string, string>,
  { mayLackBodies, isClosed }: Circumstances,
): { bytes: Buffer; end: number } | undefined {
  const length = headers.get('content-length');
  const encoding = headers.get('transfer-encoding');
  const none = { bytes: Buffer.alloc(0), end: start };
  if (status < 200)
    return length === undefined && encoding === undefined ? none : fail('an interim answer with a body');
  if (length !== undefined && encoding !== undefined) fail('two kinds of framing');
  if (length === undefined && encoding === undefined) {
    // HTTP/1.0 has no other framing for a stream.
    if (headers.get('connection') !== 'close') fail('no framing at all');
    return isClosed ? { bytes: bytes.subarray(start), end: bytes.length } : undefined;
  }
  const follows = bytes.subarray(start, start + 9).toString('latin1');
  if (mayLackBodies && (follows === '' || follows === 'HTTP/1.1 ')) return none;
  if (encoding !== undefined) return encoding === 'chunked' ? readChunks(bytes, start) : fail(`encoding ${encoding}`);
  if (!/^\d+$/.test(length as string)) fail(`length ${length}`);
  const end = start + Number(length);
  return bytes.length < end ? undefined : { bytes: bytes.subarray(start, end), end };
}

function readChunks(bytes: Buffer, start: number): { bytes: Buffer; end: number } | undefined {
  const pieces: Buffer[] = [];
  let at = start;
  while (true) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return bytes.length - at > LONGEST_CHUNK_LINE ? fail('a chunk without its length') : undefined;
    const line = bytes.toString('latin1', at, lineEnd);
    if (!CHUNK_LINE.test(line)) fail(`chunk line ${JSON.stringify(line.slice(0, 100))}`);
    const size = Number.parseInt(line, 16);
    const end = lineEnd + 2 + size;
    if (bytes.length < end + 2) return undefined;
    if (bytes.toString('latin1', end, end + 2) !== '\r\n') fail('a chunk that does not end where it says');
    if (size === 0) return { bytes: Buffer.concat(pieces), end: end + 2 };
    pieces.push(bytes.subarray(lineEnd + 2, end));
    at = end + 2;
  }
}

function fail(what: string): never {
  throw new NotHttp(what);
}
