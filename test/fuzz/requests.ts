/**
 * Requests for fuzzing the HTTP interface: valid ones, taken apart, mutated in one or more ways,
 * and reassembled.
 */
import type { Random } from '../support/random.ts';
import { cutAnywhere, inChunks, mutateBytes } from './bytes.ts';
import { mutateJson } from './json.ts';
import { BODY_BYTES, CALM_MODEL, type Secrets } from './site.ts';

/** What a client sends, and whether it waits for the response. */
export interface RequestCase {
  readonly pieces: readonly Buffer[];
  /** Nothing was mutated: it must be served. */
  readonly isValid: boolean;
  /** How many requests were concatenated. */
  readonly requests: number;
  /** Disconnects at once. */
  readonly leaves: boolean;
}

/** A request in parts that can be mutated separately. */
interface Shape {
  method: string;
  target: string;
  version: string;
  headers: [name: string, value: string][];
  body: Buffer;
  framing: 'length' | 'chunked' | 'none';
  lineEnd: string;
}

type Mutation = (shape: Shape, random: Random, secrets: Secrets) => void;

const SOUND_SHARE = 0.04;
const LEAVING_SHARE = 0.05;
const PIPELINED_SHARE = 0.05;
const BYTE_MUTATED_SHARE = 0.3;

const HELLO = { role: 'user', content: 'Hello, é漢🚀' };
const TOOL = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } };
const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
const BODIES: readonly Record<string, unknown>[] = [
  { messages: [HELLO] },
  { messages: [HELLO], stream: true },
  { messages: [HELLO], stream: true, stream_options: { include_usage: true }, max_tokens: 20 },
  { messages: [{ role: 'system', content: 'Be brief.' }, HELLO], temperature: 0.5, top_p: 1, n: 2, stop: ['a', 'b'] },
  { messages: [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, IMAGE] }], max_completion_tokens: 9 },
  { messages: [HELLO, { role: 'assistant', content: null, tool_calls: [] }], tools: [TOOL], seed: 1, user: 'u' },
];

const METHODS = [
  'GET',
  'HEAD',
  'PUT',
  'DELETE',
  'OPTIONS',
  'PATCH',
  'CONNECT',
  'TRACE',
  'PRI',
  'post',
  'XYZ',
  '',
  'M-SEARCH',
];
const TARGETS = [
  ...[
    '/',
    '*',
    '/v1',
    '/v1/',
    '/v1/models',
    '/v1/models/calm/echo',
    '/v1/models/calm%2Fecho',
    '/v1/models/%',
    '/healthz',
  ],
  ...[
    '/readyz',
    '/v1//chat/completions',
    '/v1/chat/completions/',
    '/V1/chat/completions',
    '/v1/chat/completions?a=b',
    '//',
  ],
  ...[
    '/v1/../v1/chat/completions',
    'http://other.test/v1/chat/completions',
    'https://other.test',
    '/v1/models/%00%ff%',
  ],
  ...[
    '/v1/models/__proto__',
    '/%2e%2e/etc/passwd',
    'other.test:443',
    '/v1/models/é',
    '/v1/models/a b',
    '',
    '/\t',
    '/#x',
  ],
  `/${'a'.repeat(9_000)}`,
  `/v1/models/${'%41'.repeat(6_000)}`,
];
const VERSIONS = [
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/2.0',
  'HTTP/1.2',
  'HTTP/1',
  'http/1.1',
  'HTTP/1.1 x',
  '',
  'HTTPS/1.1',
  'HTTP/11.1',
];
const ODD_HEADERS: readonly (readonly [string, string])[] = [
  ...(['100-continue', '200-ok', ''] as const).map((value) => ['Expect', value] as const),
  ...(
    [
      'chunked',
      'chunked, chunked',
      'gzip, chunked',
      'identity',
      ',chunked',
      'chunked,',
      '\tchunked',
      'xchunked',
      '',
    ] as const
  ).map((value) => ['Transfer-Encoding', value] as const),
  ...(['0', '-1', '+5', '5, 5', '5 5', '0x10', '1e3', '99999999999999999999', '', 'x', '70000', '1'] as const).map(
    (value) => ['Content-Length', value] as const,
  ),
  ...(['gzip', 'identity', 'br, gzip'] as const).map((value) => ['Content-Encoding', value] as const),
  ...(['close', 'keep-alive', 'upgrade', 'close, keep-alive', 'authorization'] as const).map(
    (value) => ['Connection', value] as const,
  ),
  ['Upgrade', 'h2c'],
  ['Upgrade', 'websocket'],
  ['HTTP2-Settings', 'AAMAAABkAAQAAP__'],
  ['Host', 'other.test'],
  ['Host', ''],
  ['Content-Type', 'text/plain'],
  ['Content-Type', 'multipart/form-data; boundary=x'],
  ['X-Forwarded-Host', 'other.test'],
  ['X-Request-Id', 'mine'],
  ['__proto__', 'x'],
  ['constructor', 'x'],
  ['Cookie', 'a=b; __proto__=c'],
  ['Accept-Encoding', 'gzip'],
  ['Range', 'bytes=0-1'],
  ['If-None-Match', '*'],
  ['X', 'a'.repeat(15_000)],
  ['X', 'a'.repeat(17_000)],
  ['X\0', 'a\0b'],
  ['X Y', 'z'],
  ['X', 'é\xff'],
  ['X', 'a\r\n folded'],
  ['X', 'a\nY: b'],
  ['X ', 'b'],
  ['', 'x'],
];
const CREDENTIALS = [
  ...[
    '',
    'Bearer',
    'Bearer ',
    'bearer x',
    'Basic YTpi',
    'Bearer sk-inf-',
    `Bearer sk-inf-${'a'.repeat(46)}`,
    'Bearer a b',
  ],
  ...[
    "Bearer ' OR 1=1 --",
    'Bearer %',
    'Bearer \xff',
    'Bearer sk-inf-\0',
    `Bearer ${'k'.repeat(8_000)}`,
    'Bearer null',
  ],
];
const LINE_ENDS = ['\n', '\r', '\n\r', '\r\r\n'];

const fields: Mutation = (shape, random) => {
  shape.body = Buffer.from(mutateJson({ model: CALM_MODEL, ...random.pick(BODIES) }, random));
};

const MUTATIONS: readonly Mutation[] = [
  function method(shape, random) {
    shape.method = random.pick(METHODS);
  },
  function target(shape, random) {
    shape.target = random.pick(TARGETS);
  },
  function version(shape, random) {
    shape.version = random.pick(VERSIONS);
  },
  function lineEnd(shape, random) {
    shape.lineEnd = random.pick(LINE_ENDS);
  },
  function addHeader({ headers }, random) {
    headers.splice(random.between(0, headers.length), 0, [...random.pick(ODD_HEADERS)]);
  },
  function manyHeaders({ headers }, random) {
    const count = random.pick([99, 101, 500, 1_500, 2_500]);
    for (let i = 0; i < count; i++) headers.push([`X${i}`, '']);
  },
  function dropHeader({ headers }, random) {
    headers.splice(random.between(0, headers.length - 1), 1);
  },
  function doubleHeader({ headers }, random) {
    headers.push([...random.pick(headers)]);
  },
  function credential({ headers }, random, secrets) {
    const value = random.chance(0.2)
      ? random.pick([
          `Bearer  ${secrets.wild}`,
          `Bearer ${secrets.wild} `,
          `Bearer ${secrets.disabled}`,
          `bEARER ${secrets.wild}`,
        ])
      : random.pick(CREDENTIALS);
    const header = headers.find(([name]) => name === 'Authorization');
    if (header !== undefined) header[1] = value;
  },
  function framing(shape, random) {
    shape.framing = random.pick(['chunked', 'chunked', 'none', 'length']);
  },
  function lie({ headers, body }, random) {
    headers.push(['Content-Length', String(Math.max(0, body.length + random.between(-3, 3)))]);
  },
  // Most of the possible problems are in the body.
  fields,
  fields,
  fields,
  function text(shape, random) {
    if (shape.body.length > 0) shape.body = mutateBytes(shape.body, random);
  },
  function tooLong(shape, random) {
    const missing = BODY_BYTES - shape.body.length + random.between(-2, 2);
    shape.body = Buffer.concat([shape.body, Buffer.alloc(Math.max(0, missing), ' ')]);
  },
];

/** Draws what one client sends. */
export function drawRequest(random: Random, secrets: Secrets): RequestCase {
  if (random.chance(SOUND_SHARE)) {
    const bytes = bytesOf(validShape(random, secrets.calm), random);
    return { pieces: cutAnywhere(bytes, random), isValid: true, requests: 1, leaves: false };
  }
  const requests = random.chance(PIPELINED_SHARE) ? 2 : 1;
  const whole = Buffer.concat(Array.from({ length: requests }, () => bytesOf(mutatedShape(random, secrets), random)));
  const bytes = random.chance(BYTE_MUTATED_SHARE) ? mutateBytes(whole, random) : whole;
  return { pieces: cutAnywhere(bytes, random), isValid: false, requests, leaves: random.chance(LEAVING_SHARE) };
}

function validShape(random: Random, secret: string): Shape {
  const body = Buffer.from(JSON.stringify({ model: CALM_MODEL, ...random.pick(BODIES) }));
  return {
    method: 'POST',
    target: '/v1/chat/completions',
    version: 'HTTP/1.1',
    headers: [
      ['Host', 'gateway.test'],
      ['Authorization', `Bearer ${secret}`],
      ['Content-Type', 'application/json'],
    ],
    body,
    framing: random.chance(0.8) ? 'length' : 'chunked',
    lineEnd: '\r\n',
  };
}

function mutatedShape(random: Random, secrets: Secrets): Shape {
  const shape = validShape(random, secrets.wild);
  for (let left = random.between(0, 3); left > 0; left--) random.pick(MUTATIONS)(shape, random, secrets);
  return shape;
}

function bytesOf(shape: Shape, random: Random): Buffer {
  const { method, target, version, body, framing, lineEnd } = shape;
  const headers = [...shape.headers];
  if (framing === 'length') headers.push(['Content-Length', String(body.length)]);
  if (framing === 'chunked') headers.push(['Transfer-Encoding', 'chunked']);
  const lines = [`${method} ${target} ${version}`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  const head = Buffer.from(lines.map((line) => line + lineEnd).join('') + lineEnd, 'latin1');
  return Buffer.concat([head, framing === 'chunked' ? inChunks(body, random) : body]);
}
