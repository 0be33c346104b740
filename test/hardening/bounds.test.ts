/**
 * Every limit of a request by its figure: the limit is accepted, one more is rejected, and
 * docs/limits.md agrees.
 */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { MAX_MESSAGES } from '../../src/dialects/chat/chat-check.ts';
import { MIN_BYTES_PER_SECOND } from '../../src/http/body.ts';
import { MAX_HEADER_BYTES, MAX_HEADERS, MAX_TARGET_BYTES } from '../../src/http/malformed.ts';
import { REPORT_MS } from '../../src/relay/stream.ts';
import { MAX_JSON_DEPTH } from '../../src/wire/members.ts';
import { MAX_EVENT_PARTS, MAX_JSON_PARTS, MAX_RESPONSE_PARTS } from '../../src/wire/structure.ts';
import { answering, completion } from '../support/answers.ts';
import { assertError } from '../support/expect.ts';
import { chat, sharedGateway } from '../support/gateway.ts';
import { projectFile, tableRows } from '../support/sources.ts';

const gateway = await sharedGateway();
const key = gateway.key({ rpm: 100_000, tpm: 1_000_000_000 });

const OWN_HEADERS = ['Host: a', `Authorization: Bearer ${key.secret}`];
const listing = (headers: readonly string[], target = '/v1/models') =>
  `GET ${target} HTTP/1.1\r\n${[...OWN_HEADERS, ...headers].map((line) => `${line}\r\n`).join('')}\r\n`;

/** A header block of exactly this many bytes, including line ends. */
function headersOf(bytes: number): string {
  const rest = bytes - OWN_HEADERS.join('\r\n').length - 'X: '.length - 2 * '\r\n'.length;
  return listing([`X: ${'x'.repeat(rest)}`]);
}

const HEADS: readonly (readonly [name: string, request: string, status: number])[] = [
  ['the largest header block', headersOf(MAX_HEADER_BYTES), 200],
  ['a header block with one byte more', headersOf(MAX_HEADER_BYTES + 1), 431],
  ['the most headers', listing(Array(MAX_HEADERS - 2).fill('X: 1')), 200],
  ['one header too many', listing(Array(MAX_HEADERS - 1).fill('X: 1')), 431],
  ['the longest target', listing([], `/v1/models?${'x'.repeat(MAX_TARGET_BYTES - 11)}`), 200],
  ['a target with one byte more', listing([], `/v1/models?${'x'.repeat(MAX_TARGET_BYTES - 10)}`), 414],
];

describe('the head of a request:', () => {
  for (const [name, request, status] of HEADS) {
    test(`${name} is ${status}`, async () => {
      const connection = await gateway.sending(request);
      const answer = await connection.answer();
      if (status === 200) assert.equal(answer.status, status, answer.body);
      else assertError(answer, status, 'invalid_request');
      assert.ok(answer.body.length < 1_000);
      if (status === 200) connection.leave();
      else assert.equal(await connection.rest(), '');
    });
  }
});

const nested = (levels: number, open = '[', close = ']') => open.repeat(levels) + close.repeat(levels);
const withField = (json: string) => `${chat().slice(0, -1)},"x":${json}}`;
const messages = (count: number) => chat({ messages: Array(count).fill({ role: 'user', content: '' }) });
const padding = `"${'\\"['.repeat(100_000)}"`;

/**
 * The parts of a body outside the field of these tests: those of `chat()`, and of the field itself.
 */
const OWN_PARTS = (chat().match(/[[{,]|"[^"]*"/g) ?? []).length + 2;
/**
 * A body with this many objects, arrays, strings and commas, long enough to be checked before
 * parsing.
 */
const ofParts = (count: number) => withField(`[${'1, '.repeat(count - OWN_PARTS - 1)}1]`);

const BODIES: readonly (readonly [name: string, body: string, problem: RegExp | undefined])[] = [
  ['the deepest nesting', withField(nested(MAX_JSON_DEPTH - 1)), undefined],
  ['one level too many', withField(nested(MAX_JSON_DEPTH)), /200 levels/],
  ['the deepest nesting of a long body', withField(`[${padding},${nested(MAX_JSON_DEPTH - 2)}]`), undefined],
  ['one level too many in a long body', withField(`[${padding},${nested(MAX_JSON_DEPTH - 1)}]`), /200 levels/],
  ['two million levels', withField(nested(2_000_000)), /200 levels/],
  ['two million nested objects', withField(nested(2_000_000, '{"a":', '}')), /200 levels|JSON/],
  ['two million open brackets', '['.repeat(2_000_000), /200 levels/],
  ['an unterminated long string', withField(`"${'x'.repeat(100_000)}`), /JSON/],
  ['the most parts', ofParts(MAX_JSON_PARTS), undefined],
  ['one part too many', ofParts(MAX_JSON_PARTS + 1), /500000 objects/],
  ['a million empty arrays', withField(`[${'[],'.repeat(1_000_000)}[]]`), /500000 objects/],
  ['the most messages', messages(MAX_MESSAGES), undefined],
  ['one message too many', messages(MAX_MESSAGES + 1), /10000 messages/],
];

describe('the body of a request:', () => {
  for (const [name, body, problem] of BODIES) {
    test(`${name} is ${problem === undefined ? 'accepted' : 'rejected'}`, async () => {
      gateway.upstream.follow(answering(completion('hi')));
      const answer = await gateway.complete(key, body);
      if (problem === undefined) assert.equal(answer.status, 200, answer.text);
      else assert.match(assertError(answer, 400, 'invalid_request'), problem);
    });
  }
});

test('docs/limits.md has these figures', () => {
  const rows = tableRows(projectFile('docs/limits.md'), '| item | bound |');
  const bounds = new Map(rows.map(([what, bound]) => [what, bound]));
  const kilobytes = (bytes: number) => `${bytes / 1024} KB`;
  assert.partialDeepStrictEqual(Object.fromEntries(bounds), {
    'headers, all together': kilobytes(MAX_HEADER_BYTES),
    'number of headers': String(MAX_HEADERS),
    'address (path and query)': kilobytes(MAX_TARGET_BYTES),
    'nesting of JSON': `${MAX_JSON_DEPTH} levels`,
    'parts of JSON': `${MAX_JSON_PARTS.toLocaleString('en')} objects, arrays, strings and commas`,
    messages: MAX_MESSAGES.toLocaleString('en'),
    'parts of JSON in such a response': MAX_RESPONSE_PARTS.toLocaleString('en'),
    'parts of JSON in one event of a stream': MAX_EVENT_PARTS.toLocaleString('en'),
    'a stream, after its finish reason': `${REPORT_MS / 1_000} s`,
    'a body, on average': `${kilobytes(MIN_BYTES_PER_SECOND)}/s at least, after the first \`timeouts.request\``,
  });
});
