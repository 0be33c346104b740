/** Responses for fuzzing the host's side: valid ones of many hosts, with one or more mutations. */
import { chunk, completion, DONE, event, USAGE, usageChunk } from '../support/answers.ts';
import type { Random } from '../support/random.ts';
import { cutAnywhere, inChunks, mutateBytes } from './bytes.ts';
import { mutateJson } from './json.ts';

/** What a host does with one request. */
export interface AnswerCase {
  readonly stream: boolean;
  /** Nothing was mutated: the body that the client must get. */
  readonly expectedBody: string | undefined;
  readonly pieces: readonly Buffer[];
  /** What happens to the connection after the last piece. */
  readonly ending: 'keep' | 'fin' | 'reset';
  /** The client disconnects before it has a response. */
  readonly leaves: boolean;
}

interface Shape {
  status: string;
  headers: [name: string, value: string][];
  body: Buffer;
  framing: 'length' | 'chunked' | 'none';
}

const SOUND_SHARE = 0.04;
const LEAVING_SHARE = 0.05;
const BYTE_MUTATED_SHARE = 0.35;
const WORDS = 'some words, é漢🚀';

const JSON_BODIES: readonly Record<string, unknown>[] = [
  completion(WORDS),
  completion(WORDS, { usage: undefined }),
  completion(WORDS, { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 300 } }),
  {
    ...completion(''),
    choices: [{ index: 0, message: { content: null, tool_calls: [{ function: { name: 'a', arguments: '{}' } }] } }],
  },
];

/** Events of streams as hosts send them, one array per stream. */
const STREAMS: readonly (readonly string[])[] = [
  [chunk('', null, { usage: null }), chunk(WORDS), chunk('', 'stop'), usageChunk(), DONE],
  [chunk(WORDS), chunk('', 'stop', { usage: USAGE, x_groq: { usage: USAGE } }), DONE],
  [': OPENROUTER PROCESSING\n\n', chunk(WORDS), ': OPENROUTER PROCESSING\n\n', chunk('', 'stop'), usageChunk(), DONE],
  [event({ id: '', choices: [], prompt_filter_results: [] }), chunk(WORDS), chunk('', 'length'), DONE],
  [chunk(WORDS), chunk(WORDS), chunk('', 'stop')],
];

/** Errors in the formats of hosts; `{secret}` stands for what a client must never read. */
const ERROR_BODIES: readonly string[] = [
  '{"error":{"message":"Incorrect API key provided: {secret}","type":"invalid_request_error","code":"invalid_api_key"}}',
  '{"object":"error","message":"no such route on {secret}","type":"x","code":3000}',
  '{"code":"x","error":"{secret} is over its quota"}',
  '[{"error":{"code":429,"message":"slow down, {secret}","status":"RESOURCE_EXHAUSTED"}}]',
  '{"detail":[{"msg":"{secret}","loc":["body"]}]}',
  '<html><body>502 Bad Gateway: {secret}</body></html>',
  '',
];
const STATUSES = [
  ...[
    '200 OK',
    '201 Created',
    '204 No Content',
    '206 Partial',
    '304 Not Modified',
    '301 Moved',
    '307 Moved',
    '100 Continue',
  ],
  ...['101 Switching Protocols', '103 Early Hints', '400 Bad', '401 No', '402 Pay', '403 No', '404 None', '408 Late'],
  ...[
    '409 Conflict',
    '413 Long',
    '418 Tea',
    '422 Odd',
    '429 Slow',
    '500 Oops',
    '502 Bad',
    '503 Busy',
    '529 Full',
    '599 X',
  ],
  ...['000 Zero', '99 Low', '999 High', '20 OK', '2000 OK', '-1 OK', 'abc', '', '200', '200 {secret}', '200 \xff\0'],
];
const ODD_HEADERS: readonly (readonly [string, string])[] = [
  ...(['0', '1', '-1', '+5', '5, 5', '99999999999999999999', '', 'x', '100000'] as const).map(
    (value) => ['content-length', value] as const,
  ),
  ...(['chunked', 'gzip, chunked', 'identity', 'chunked, chunked', ''] as const).map(
    (value) => ['transfer-encoding', value] as const,
  ),
  ...(['gzip', 'br', 'identity', 'GZIP', ''] as const).map((value) => ['content-encoding', value] as const),
  ...(
    [
      'text/html',
      'text/plain',
      'TEXT/EVENT-STREAM',
      'text/event-streamx',
      '',
      'application/json; charset=\xff',
    ] as const
  ).map((value) => ['content-type', value] as const),
  ...(['close', 'upgrade', 'keep-alive'] as const).map((value) => ['connection', value] as const),
  ['retry-after', '0'],
  ['retry-after', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  ['retry-after', '-1e9'],
  ['keep-alive', 'timeout=0'],
  ['keep-alive', 'timeout=99999999999'],
  ['upgrade', 'h2c'],
  ['location', 'http://{secret}/'],
  ['set-cookie', 'k={secret}'],
  ['x-request-id', '{secret}'],
  ['x-ratelimit-limit-requests', '{secret}'],
  ['__proto__', '{secret}'],
  ['trailer', 'x-y'],
  ['x', 'a'.repeat(20_000)],
  ['x\0', 'a\0b'],
  ['x y', 'é\xff'],
];
const LINE_ENDS = ['\r\n', '\r'];

type Mutation = (shape: Shape, random: Random) => void;

const MUTATIONS: readonly Mutation[] = [
  function status(shape, random) {
    shape.status = random.pick(STATUSES);
  },
  function errorAnswer(shape, random) {
    shape.status = random.pick(STATUSES);
    shape.body = Buffer.from(random.pick(ERROR_BODIES));
  },
  function errorWithin(shape, random) {
    shape.body = Buffer.from(random.pick(ERROR_BODIES));
  },
  function errorEvent(shape, random) {
    const name = random.chance(0.5) ? 'event: error\n' : '';
    const error = Buffer.from(`${name}data: ${random.pick(ERROR_BODIES)}\n\n`);
    const at = random.chance(0.5) ? 0 : random.between(0, shape.body.length);
    shape.body = Buffer.concat([shape.body.subarray(0, at), error, shape.body.subarray(at)]);
  },
  function addHeader({ headers }, random) {
    headers.splice(random.between(0, headers.length), 0, [...random.pick(ODD_HEADERS)]);
  },
  function dropHeader({ headers }, random) {
    headers.splice(random.between(0, headers.length - 1), 1);
  },
  function framing(shape, random) {
    shape.framing = random.pick(['length', 'chunked', 'none']);
  },
  function lie({ headers, body }, random) {
    headers.push(['content-length', String(Math.max(0, body.length + random.between(-5, 5)))]);
  },
  function lineEnds(shape, random) {
    shape.body = Buffer.from(shape.body.toString('latin1').replaceAll('\n', random.pick(LINE_ENDS)), 'latin1');
  },
  function mark(shape) {
    shape.body = Buffer.concat([Buffer.from('\ufeff'), shape.body]);
  },
  function fields(shape, random) {
    shape.body = mutatedFields(shape.body, random);
  },
  function events(shape, random) {
    const events = shape.body.toString('utf8').split('\n\n');
    events.splice(random.between(0, events.length - 1), 1, ...random.shuffled(events).slice(0, random.between(0, 3)));
    shape.body = Buffer.from(events.join('\n\n'));
  },
  function text(shape, random) {
    if (shape.body.length > 0) shape.body = mutateBytes(shape.body, random);
  },
];

/** Mutates the JSON of one event, or of the whole response. */
function mutatedFields(body: Buffer, random: Random): Buffer {
  const text = body.toString('utf8');
  const [line] = random.shuffled(text.match(/\{.*\}/g) ?? []);
  if (line === undefined) return body;
  try {
    return Buffer.from(text.replace(line, () => mutateJson(JSON.parse(line), random)));
  } catch {
    // An earlier mutation has removed it.
    return body;
  }
}

/**
 * Draws a random response. `secrets`: what it may reveal about the operator, and no client may
 * read.
 */
export function drawAnswer(random: Random, secrets: readonly string[]): AnswerCase {
  const stream = random.chance(0.6);
  const body = stream ? random.pick(STREAMS).join('') : JSON.stringify(random.pick(JSON_BODIES));
  const shape: Shape = {
    status: '200 OK',
    headers: [['content-type', stream ? 'text/event-stream' : 'application/json']],
    body: Buffer.from(body),
    framing: stream || random.chance(0.3) ? 'chunked' : 'length',
  };
  const isValid = random.chance(SOUND_SHARE);
  // The gateway adds the end that a stream lacks.
  const expectedBody = stream && !body.endsWith(DONE) ? body + DONE : body;
  if (isValid) return { stream, expectedBody, pieces: cut(shape, random, ''), ending: 'keep', leaves: false };
  for (let left = random.between(0, 3); left > 0; left--) random.pick(MUTATIONS)(shape, random);
  return {
    stream,
    expectedBody: undefined,
    pieces: cut(shape, random, random.pick(secrets), random.chance(BYTE_MUTATED_SHARE)),
    ending: random.pick(['keep', 'fin', 'fin', 'fin', 'reset']),
    leaves: random.chance(LEAVING_SHARE),
  };
}

function cut(shape: Shape, random: Random, secret: string, isMutated = false): Buffer[] {
  const bytes = bytesOf(shape, random, secret);
  return cutAnywhere(isMutated ? mutateBytes(bytes, random) : bytes, random);
}

function bytesOf({ status, headers, body, framing }: Shape, random: Random, secret: string): Buffer {
  const filled = Buffer.from(body.toString('latin1').replaceAll('{secret}', secret), 'latin1');
  const all = [...headers];
  if (framing === 'length') all.push(['content-length', String(filled.length)]);
  if (framing === 'chunked') all.push(['transfer-encoding', 'chunked']);
  const lines = [`HTTP/1.1 ${status}`, ...all.map(([name, value]) => `${name}: ${value}`)];
  const head = `${lines.join('\r\n').replaceAll('{secret}', secret)}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), framing === 'chunked' ? inChunks(filled, random) : filled]);
}
