/** The directives of the mock provider: what a prompt sets, and what it does not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { DIRECTIVES, type Directives, readDirectives } from '../../../src/providers/mock/directives.ts';
import { promptsIn } from '../../../src/providers/mock/reading.ts';

const NOTHING: Directives = {
  help: false,
  errorStatus: undefined,
  delayMs: 0,
  paceMs: 0,
  cutAfter: undefined,
  failAfter: undefined,
  stallAfter: undefined,
  words: undefined,
  thinking: undefined,
  callTool: false,
  calls: [],
  reportUsage: true,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};

const call = (name: string, argumentsJson: string) => ({ name, argumentsJson });

const READ: readonly (readonly [prompt: string, directives: Partial<Directives>])[] = [
  ['hello', {}],
  ['/help', { help: true }],
  ['please /help me', { help: true }],
  ['/error 503', { errorStatus: 503 }],
  ['/error 399', {}],
  ['/error', {}],
  ['/error x', {}],
  ['/delay 2s', { delayMs: 2_000 }],
  ['/delay 150ms', { delayMs: 150 }],
  ['/delay 2', {}],
  ['/delay 99999999s', { delayMs: 600_000 }],
  ['/pace 100ms', { paceMs: 100 }],
  ['/cut 3', { cutAfter: 3 }],
  ['/cut 0', { cutAfter: 0 }],
  ['/cut 3 please', { cutAfter: 3 }],
  ['/cut 3x', {}],
  ['/cut\n3', {}],
  ['/fail 3', { failAfter: 3 }],
  ['/stall 3', { stallAfter: 3 }],
  ['/words 200', { words: 200 }],
  ['/words 999999', { words: 10_000 }],
  ['/tool', { callTool: true }],
  ['/no-usage', { reportUsage: false }],
  ['/words 5 /pace 10ms\n/no-usage', { words: 5, paceMs: 10, reportUsage: false }],
  ['/words 5 /words 6', { words: 6 }],
  ['a/help and/tool', {}],
  ['/helpful', {}],
  ['https://example.com/error 503', {}],
  ['/think 20', { thinking: 20 }],
  ['/think 99999', { thinking: 10_000 }],
  ['/think 3 apples', { thinking: 3 }],
  ['/think', {}],
  ['/think  \nhello', {}],
  ['/think I see /tmp here\nnot this', { thinking: 'I see /tmp here' }],
  ['/think first this /words 2', { thinking: 'first this', words: 2 }],
  ['/cache 7', { cacheReadTokens: 7 }],
  ['/cache-write 8 /cache 7', { cacheReadTokens: 7, cacheWriteTokens: 8 }],
  ['/cache -1', {}],
  ['/call read {"path": "a.txt"}', { calls: [call('read', '{"path": "a.txt"}')] }],
  ['/call mcp__x.y:z-1\n{}', { calls: [call('mcp__x.y:z-1', '{}')] }],
  ['/call a {"b": {"c": "}"}} /words 2', { calls: [call('a', '{"b": {"c": "}"}}')], words: 2 }],
  [
    '/call a {"b": "say \\"}\\" /words 5 "} /help',
    { calls: [call('a', '{"b": "say \\"}\\" /words 5 "}')], help: true },
  ],
  ['/call a {"n": 1} then /call b {"n": 2}', { calls: [call('a', '{"n": 1}'), call('b', '{"n": 2}')] }],
  ['/think hard /call a {} more', { thinking: 'hard', calls: [call('a', '{}')] }],
  ['/call a', {}],
  ['/call me maybe', {}],
  ['/call a [1]', {}],
  ['/call a {x} /help', { help: true }],
  ['/call a {"never": "closed /help', { help: true }],
];

describe('the prompt sets', () => {
  for (const [prompt, directives] of READ) {
    test(`${JSON.stringify(prompt)}: ${JSON.stringify(directives)}`, () => {
      assert.deepEqual(readDirectives(prompt), { ...NOTHING, ...directives });
    });
  }

  test('something by each directive that the help lists', () => {
    for (const [usage] of DIRECTIVES) assert.notDeepEqual(readDirectives(usage), NOTHING, usage);
  });

  test('only what the help lists', () => {
    const named = DIRECTIVES.map(([usage]) => usage.split(' ')[0]?.slice(1)).toSorted();
    const all = 'help error delay pace cut fail stall words think tool call cache cache-write no-usage'.split(' ');
    assert.deepEqual(named, all.toSorted());
  });

  test('nothing that takes long to read', () => {
    const pieces = ['/call a {', '"', '\\"', '{}', '/think a ', '/call b {} ', ' ', '/', '\n', '<system-reminder>'];
    for (const piece of pieces) {
      const started = process.cpuUsage();
      const prompt = piece.repeat(300_000 / piece.length);
      readDirectives(prompt);
      promptsIn(prompt);
      const { user } = process.cpuUsage(started);
      assert.ok(user < 1_000_000, `${piece}: ${user / 1000} ms`);
    }
  });

  test('the arguments of a call as they stand there, whatever they contain', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.boolean(), (value, isPretty) => {
        const json = JSON.stringify(value, undefined, isPretty ? 2 : 0);
        const read = readDirectives(`please /call tool ${json} /words 3`);
        assert.deepEqual(read, { ...NOTHING, calls: [call('tool', json)], words: 3 });
      }),
    );
  });
});
