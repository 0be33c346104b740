/**
 * llhttp, the HTTP parser of Node, as undici's WebAssembly build. This file passes bytes to it and collects the parts of one
 * message from its callbacks; it interprets no bytes itself.
 *
 * The two builds are private files of undici: no public package has a maintained one, and Node does not export its own. undici's
 * version is exact in package.json, and test/unit/http/llhttp.test.ts fails if an update moves or changes them.
 */
import { createRequire } from 'node:module';

// The build removes this line and bundles the required files: scripts/bundling.ts.
const require = createRequire(import.meta.url);

/** The head of a request. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly httpVersion: string;
  /** Names and values as sent, without white space around the values. */
  readonly rawHeaders: readonly string[];
  /** Whether the client keeps the connection open after the response. */
  readonly keepAlive: boolean;
  /** Whether the body is chunked. The parser stops before such a body, so the caller decides whether to parse it. */
  readonly isInChunks: boolean;
}

/** The result of one call: parts of one message. */
export interface Parsed {
  /** The number of parsed bytes. Smaller than the input if a message has ended or the input exceeds the window. */
  readonly length: number;
  /** The head, if it ended in these bytes. */
  readonly head: RequestHead | undefined;
  /** The part of the body in these bytes. */
  readonly body: Buffer | undefined;
  /** Whether the message ended in these bytes. */
  readonly isComplete: boolean;
  /** Node's name of the error. The parser cannot continue after it. */
  readonly fault: string | undefined;
}

/** The part of llhttp's interface that the build exports. `parser` and `data` are addresses. */
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

/** Constants of llhttp's interface. */
const REQUEST = 1;
const PAUSED = 21;
const PAUSED_UPGRADE = 22;
const USER = 24;

/** Size of the window in WebAssembly memory into which bytes are copied for parsing. */
const WINDOW_BYTES = 64 * 1024;
/**
 * Maximum framing bytes around a part of a chunked body: the chunk size line with extensions. The limit for extensions is Node's.
 */
const MAX_FRAMING_BYTES = 16 * 1024 + 64;

/** The parser whose bytes are in the window. Parser calls are never nested. */
let current: HttpParser;
let llhttp: Llhttp | undefined;
let window = 0;
let bytes = new Uint8Array();

// biome-ignore lint/suspicious/noExplicitAny: Node's types lack WebAssembly
const { Instance, Module } = (globalThis as any).WebAssembly;

function compiled(): object {
  // The paths are literals because the bundler reads them.
  try {
    return new Module(require('undici/lib/llhttp/llhttp_simd-wasm.js'));
  } catch {
    // Some processors lack SIMD instructions: virtual machines often hide the newer ones.
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

/** Returns the zero-terminated string at an address. */
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

/** Returns the window. WebAssembly memory moves when it grows. */
function windowOf({ memory: { buffer } }: Llhttp): Uint8Array {
  if (bytes.buffer !== buffer) bytes = new Uint8Array(buffer, window, WINDOW_BYTES);
  return bytes;
}

const URL_PART = 0;
const NAME = 1;
const VALUE = 2;
/** The kind, offset and length of each head part in the window. */
const PARTS = new Int32Array(3 * 512);

/**
 * Maximum length of a head that is decoded as one string and sliced. V8 slices keep their parent alive, so a stored header name
 * could retain a large head.
 */
const MAX_SHARED_BYTES = 2 * 1024;

const NOTHING = Buffer.alloc(0);

/** The parser of one connection. */
export class HttpParser {
  /** True from the beginning of a message to its end. */
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
  /** Length of target, names and values, or of the names and values in the trailers. */
  #headBytes = 0;
  #hasHead = false;
  #isInTrailers = false;
  #lastKind = URL_PART;
  /** The number of used elements in `PARTS`. */
  #parts = 0;
  #bodyParts: Buffer[] = [];
  /** The offset at which the framing before the next body part begins, and its length in earlier bytes. */
  #framingAt = 0;
  #framingBytes = 0;

  /** `maxHeadBytes`: exclusive limit for target, names and values together. */
  constructor(maxHeadBytes: number) {
    llhttp ??= load();
    this.#llhttp = llhttp;
    this.#maxHeadBytes = maxHeadBytes;
    this.#parser = this.#llhttp.llhttp_alloc(REQUEST);
  }

  /** Parses the bytes up to the end of a message or of the window. */
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

  /** Drops all references to parsed data, since a connection may stay idle for long. */
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
      // Upgrades are ignored: the following bytes are the next request.
      this.#llhttp.llhttp_resume_after_upgrade(parser);
    }
  }

  /** Handles the end of the input. Returns false if a message is incomplete. */
  finish(): boolean {
    current = this;
    return this.#isPaused ? !this.isInMessage : this.#llhttp.llhttp_finish(this.#parser) === 0;
  }

  /** Frees the parser. Must be the last call. */
  free(): void {
    this.#llhttp.llhttp_free(this.#parser);
  }

  // Callbacks of llhttp. Each returns 0, or the error code that stops the parser.

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
      // Trailers are validated and dropped.
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

  /** Counts the bytes up to `end` that belong to neither a head nor a body. */
  #countFraming(end: number): void {
    if (!this.isInMessage || !this.#hasHead || this.#isInTrailers) return;
    this.#framingBytes += end - this.#framingAt;
    this.#framingAt = end;
    if (this.#framingBytes > MAX_FRAMING_BYTES) this.#fault ??= 'HPE_CHUNK_EXTENSIONS_OVERFLOW';
  }

  /** Decodes the parts in the window. Slices of one decoded string are faster, but only used for short heads. */
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
    // Every name has a value, possibly empty, so two consecutive parts of a kind are halves of one.
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
