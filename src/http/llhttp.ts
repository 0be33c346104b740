/**
 * llhttp, the HTTP parser of Node, as undici's WebAssembly build. This file passes bytes to it and collects the parts of one
 * message from its callbacks; it interprets no bytes itself.
 *
 * The two builds are private files of undici: no public package has a maintained one, and Node does not export its own. undici's
 * version is exact in package.json, and test/unit/http/llhttp.test.ts fails if an update moves or changes them.
 */
import { createRequire } from 'node:module';

// The build removes this line, and bundles what is required: scripts/bundling.ts.
const require = createRequire(import.meta.url);

/** The head of a request. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly httpVersion: string;
  /** Names and values as they were sent, without white space around the values. */
  readonly rawHeaders: readonly string[];
  /** Whether the client keeps the connection open after the answer. */
  readonly keepAlive: boolean;
  /** Whether its body is chunked. The parser stops before such a body, so the caller decides whether to parse it. */
  readonly isInChunks: boolean;
}

/** What was found in some bytes: parts of one message. */
export interface Parsed {
  /** How many bytes were parsed: less than all where a message has ended, or they were too many for one time. */
  readonly length: number;
  /** The head that ended in them. */
  readonly head: RequestHead | undefined;
  /** What they had of the body. */
  readonly body: Buffer | undefined;
  /** The message ended with them. */
  readonly isComplete: boolean;
  /** Why they are refused, as Node calls it. Nothing can be parsed any more. */
  readonly fault: string | undefined;
}

/** What the build exports of llhttp's interface. `parser` and `data` are addresses. */
interface Llhttp {
  readonly memory: { readonly buffer: ArrayBuffer };
  _initialize(): void;
  malloc(bytes: number): number;
  llhttp_alloc(type: number): number;
  llhttp_free(parser: number): void;
  llhttp_execute(parser: number, data: number, length: number): number;
  llhttp_finish(parser: number): number;
  llhttp_resume(parser: number): void;
  llhttp_resume_after_upgrade(parser: number): void;
  llhttp_get_error_pos(parser: number): number;
  llhttp_get_method(parser: number): number;
  llhttp_get_http_major(parser: number): number;
  llhttp_get_http_minor(parser: number): number;
  llhttp_method_name(method: number): number;
  llhttp_errno_name(error: number): number;
}

/** Numbers of llhttp's interface. */
const REQUEST = 1;
const PAUSED = 21;
const PAUSED_UPGRADE = 22;
const USER = 24;

/** Bytes are copied here before they are parsed, at most so many at a time. */
const WINDOW_BYTES = 64 * 1024;
/** The most bytes around a part of a body in chunks: the line of its size, with extensions. Node allows extensions as much. */
const MAX_FRAMING_BYTES = 16 * 1024 + 64;

/** The parser whose bytes are in the window. None is called within another. */
let current: HttpParser;
let llhttp: Llhttp | undefined;
let window = 0;
let bytes = new Uint8Array();

// biome-ignore lint/suspicious/noExplicitAny: Node's types lack WebAssembly
const { Instance, Module } = (globalThis as any).WebAssembly;

function compiled(): object {
  // The paths are literals, since the bundler reads them.
  try {
    return new Module(require('undici/lib/llhttp/llhttp_simd-wasm.js'));
  } catch {
    // Its instructions are not those of every processor: virtual machines often hide the newer ones.
    return new Module(require('undici/lib/llhttp/llhttp-wasm.js'));
  }
}

function load(): Llhttp {
  const instance = new Instance(compiled(), {
    env: {
      wasm_on_message_begin: () => current.onBegin(),
      wasm_on_url: (_: number, at: number, length: number) => current.onHeadPart(URL_PART, at - window, length),
      wasm_on_status: () => 0,
      wasm_on_header_field: (_: number, at: number, length: number) => current.onHeadPart(NAME, at - window, length),
      wasm_on_header_value: (_: number, at: number, length: number) => current.onHeadPart(VALUE, at - window, length),
      wasm_on_headers_complete: (_: number, _status: number, _upgrade: number, keepAlive: number) =>
        current.onHeadEnd(keepAlive === 1),
      wasm_on_body: (_: number, at: number, length: number) => current.onBody(at - window, length),
      wasm_on_message_complete: () => current.onEnd(),
    },
  });
  const loaded = instance.exports as Llhttp;
  loaded._initialize();
  window = loaded.malloc(WINDOW_BYTES);
  return loaded;
}

/** The text at an address. */
function textAt({ memory: { buffer } }: Llhttp, address: number): string {
  const all = Buffer.from(buffer);
  return all.toString('latin1', address, all.indexOf(0, address));
}

const methodNames = new Map<number, string>();

function methodName(loaded: Llhttp, method: number): string {
  const known = methodNames.get(method);
  if (known !== undefined) return known;
  const name = textAt(loaded, loaded.llhttp_method_name(method));
  methodNames.set(method, name);
  return name;
}

/** The memory of WebAssembly moves when it grows. */
function windowOf({ memory: { buffer } }: Llhttp): Uint8Array {
  if (bytes.buffer !== buffer) bytes = new Uint8Array(buffer, window, WINDOW_BYTES);
  return bytes;
}

const URL_PART = 0;
const NAME = 1;
const VALUE = 2;
/** The parts of a head that were found in the window: the kind, offset and length of each. */
const PARTS = new Int32Array(3 * 512);

/** A string that is cut from another keeps all of that: a name in a table must not keep a large head. */
const MAX_SHARED_BYTES = 2 * 1024;

const NOTHING = Buffer.alloc(0);

/** Of one connection. */
export class HttpParser {
  /** A message has begun, and has not ended. */
  isInMessage = false;
  readonly #llhttp: Llhttp;
  readonly #maxHeadBytes: number;
  #parser: number;
  #head: RequestHead | undefined;
  #isComplete = false;
  #fault: string | undefined;
  #isPaused = false;
  #chunk: Buffer = NOTHING;
  #url = '';
  #headers: string[] = [];
  /** Of names, values and target, or of names and values of the trailers. */
  #headBytes = 0;
  #hasHead = false;
  #isInTrailers = false;
  #lastKind = URL_PART;
  /** How much of `PARTS` is filled. */
  #parts = 0;
  #bodyParts: Buffer[] = [];
  /** Where the framing before the next part of the body begins, and how much of it was in earlier bytes. */
  #framingAt = 0;
  #framingBytes = 0;

  /** `maxHeadBytes`: of the target, names and values together; as many begin to be too many. */
  constructor(maxHeadBytes: number) {
    llhttp ??= load();
    this.#llhttp = llhttp;
    this.#maxHeadBytes = maxHeadBytes;
    this.#parser = this.#llhttp.llhttp_alloc(REQUEST);
  }

  /** Parses these bytes up to the end of a message, as much of them as the window holds. */
  execute(chunk: Buffer): Parsed {
    const size = Math.min(chunk.length, WINDOW_BYTES);
    windowOf(this.#llhttp).set(size === chunk.length ? chunk : chunk.subarray(0, size));
    this.#chunk = chunk;
    this.#framingAt = 0;
    this.#isComplete = false;
    current = this;
    const length = this.#parse(size);
    this.#readParts();
    this.#countFraming(length);
    const parts = this.#bodyParts;
    const body = parts.length > 1 ? Buffer.concat(parts) : parts[0];
    const parsed = { length, head: this.#head, body, isComplete: this.#isComplete, fault: this.#fault };
    this.#forget();
    return parsed;
  }

  /** Keeps nothing of what was parsed: a connection may be idle for long. */
  #forget(): void {
    this.#chunk = NOTHING;
    this.#head = undefined;
    if (this.#bodyParts.length > 0) this.#bodyParts = [];
  }

  #parse(length: number): number {
    const parser = this.#parser;
    if (this.#isPaused) this.#llhttp.llhttp_resume(parser);
    this.#isPaused = false;
    for (let at = 0; ; ) {
      const result = this.#llhttp.llhttp_execute(parser, window + at, length - at);
      if (result === 0) return length;
      at = this.#llhttp.llhttp_get_error_pos(parser) - window;
      this.#isPaused = result === PAUSED;
      if (this.#isPaused) return at;
      if (result !== PAUSED_UPGRADE) {
        this.#fault ??= textAt(this.#llhttp, this.#llhttp.llhttp_errno_name(result));
        return at;
      }
      // Nothing is upgraded: what follows is the next request.
      this.#llhttp.llhttp_resume_after_upgrade(parser);
    }
  }

  /** The client sends nothing more. False if a message is incomplete. */
  finish(): boolean {
    current = this;
    return this.#isPaused ? !this.isInMessage : this.#llhttp.llhttp_finish(this.#parser) === 0;
  }

  /** To be called once, and nothing after it. */
  free(): void {
    this.#llhttp.llhttp_free(this.#parser);
  }

  // What follows is called by llhttp. Each returns 0, or why the parser has to stop.

  onBegin(): number {
    this.isInMessage = true;
    this.#headBytes = 0;
    this.#hasHead = false;
    this.#isInTrailers = false;
    this.#lastKind = URL_PART;
    this.#framingBytes = 0;
    return 0;
  }

  onHeadPart(kind: number, at: number, length: number): number {
    this.#headBytes += length;
    if (this.#headBytes >= this.#maxHeadBytes) {
      this.#fault = 'HPE_HEADER_OVERFLOW';
      return USER;
    }
    this.#framingAt = at + length;
    if (this.#hasHead) {
      // Trailers are checked, and dropped.
      this.#isInTrailers = true;
      return 0;
    }
    if (this.#parts === PARTS.length) this.#readParts();
    PARTS[this.#parts++] = kind;
    PARTS[this.#parts++] = at;
    PARTS[this.#parts++] = length;
    return 0;
  }

  onHeadEnd(keepAlive: boolean): number {
    this.#readParts();
    this.#hasHead = true;
    this.#headBytes = 0;
    const headers = this.#headers;
    for (let i = 1; i < headers.length; i += 2) headers[i] = withoutTail(headers[i] as string);
    const parser = this.#parser;
    const loaded = this.#llhttp;
    const isInChunks = hasTransferEncoding(headers);
    this.#head = {
      method: methodName(loaded, loaded.llhttp_get_method(parser)),
      url: this.#url,
      httpVersion: `${loaded.llhttp_get_http_major(parser)}.${loaded.llhttp_get_http_minor(parser)}`,
      rawHeaders: headers,
      keepAlive,
      isInChunks,
    };
    this.#url = '';
    this.#headers = [];
    return isInChunks ? PAUSED : 0;
  }

  onBody(at: number, length: number): number {
    this.#bodyParts.push(this.#chunk.subarray(at, at + length));
    this.#countFraming(at);
    this.#framingAt = at + length;
    this.#framingBytes = 0;
    return this.#fault === undefined ? 0 : USER;
  }

  onEnd(): number {
    this.isInMessage = false;
    this.#isComplete = true;
    return PAUSED;
  }

  /** The bytes up to `end` are neither of a body nor of a head. */
  #countFraming(end: number): void {
    if (!this.isInMessage || !this.#hasHead || this.#isInTrailers) return;
    this.#framingBytes += end - this.#framingAt;
    this.#framingAt = end;
    if (this.#framingBytes > MAX_FRAMING_BYTES) this.#fault ??= 'HPE_CHUNK_EXTENSIONS_OVERFLOW';
  }

  /** Makes strings of the parts in the window: they are cut from one string, which is fast, unless that would be long. */
  #readParts(): void {
    const parts = this.#parts;
    if (parts === 0) return;
    this.#parts = 0;
    const start = PARTS[1] as number;
    const end = (PARTS[parts - 2] as number) + (PARTS[parts - 1] as number);
    const text = end - start > MAX_SHARED_BYTES ? undefined : this.#chunk.toString('latin1', start, end);
    for (let i = 0; i < parts; i += 3) {
      const kind = PARTS[i] as number;
      const at = PARTS[i + 1] as number;
      const to = at + (PARTS[i + 2] as number);
      this.#addPart(kind, text?.slice(at - start, to - start) ?? this.#chunk.toString('latin1', at, to));
    }
  }

  #addPart(kind: number, text: string): void {
    const headers = this.#headers;
    if (kind === URL_PART) this.#url += text;
    // Every name has a value, if only an empty one, so two of a kind are halves of one.
    else if (kind === this.#lastKind) headers[headers.length - 1] += text;
    else headers.push(text);
    this.#lastKind = kind;
  }
}

function hasTransferEncoding(headers: readonly string[]): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (name.length === TRANSFER_ENCODING.length && name.toLowerCase() === TRANSFER_ENCODING) return true;
  }
  return false;
}

const TRANSFER_ENCODING = 'transfer-encoding';

function withoutTail(value: string): string {
  const last = value.charCodeAt(value.length - 1);
  return last === 0x20 || last === 0x09 ? value.replace(/[ \t]+$/, '') : value;
}
