/** Several problems in one config file: all are reported at once, and none hides another. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemsOf } from '../support/configs.ts';

test('all problems are reported at once, in the order of their lines', () => {
  const text = `providers:
  one:
    kind: openai
    base_url: nowhere
    models:
      m: { input: free, output: 1 }
  two:
    kind: openai
    base_url: https://two.example
    api_key: \${file:missing.txt}
    headers: { te: trailers }
    models: {}
tier: none
max_body: big
unknown: 1
`;
  const places = problemsOf(text).map((line) => /^(\d+):\d+: ([^:]+):/.exec(line)?.slice(1).join(' '));
  assert.deepEqual(places, [
    '4 providers.one.base_url',
    '6 providers.one.models.m.input',
    '10 providers.two.api_key',
    '11 providers.two.headers.te',
    '13 tier',
    '14 max_body',
    '15 unknown',
  ]);
});

/** Problems of different kinds, none of which may hide another. */
const COMBINATIONS: readonly (readonly [what: string, text: string, problems: readonly RegExp[]])[] = [
  [
    'a bad name and the secret of another provider',
    `providers:\n  a/b: { kind: mock, models: {} }\n  f: { kind: openai, base_url: http://x, api_key: "\${file:gone}", models: {} }`,
    [/^2:3: providers\.a\/b: /, /^3:\d+: providers\.f\.api_key: cannot read/],
  ],
  [
    'an unknown key, an address and a header of one provider',
    'providers:\n  d:\n    kind: openai\n    base_url: ftp://x\n    bogus: 1\n    headers: { "bad name": x }\n    models: {}',
    [/^4:5: providers\.d\.base_url: /, /^5:5: providers\.d\.bogus: /, /^6:16: providers\.d\.headers\.bad name: /],
  ],
  [
    'an invalid choice and the address of an upstream',
    'providers:\n  u:\n    kind: openai\n    on_disconnect: later\n    upstreams: [{ base_url: ftp://y }]\n    models: {}',
    [/^4:5: providers\.u\.on_disconnect: /, /^5:\d+: providers\.u\.upstreams\.0\.base_url: /],
  ],
  [
    'a number out of range and an unknown fallback, but not one that is invalid itself',
    'max_connections: 0\nproviders:\n  m: { kind: mock, models: { a: { input: 0, output: 0, fallback: [m/b, n/c] } } }\n  n: { kind: mock, models: { c: { input: -1, output: 0 } } }',
    [
      /^1:1: max_connections: /,
      /^3:\d+: providers\.m\.models\.a\.fallback\.0: no such model in this file: "m\/b"/,
      /^4:\d+: providers\.n\.models\.c\.input/,
    ],
  ],
  ['a repeated key and an unknown one', 'credit: off\ncredit: off\nfoo: 1', [/^2:1: /, /^3:1: foo: unknown key/]],
  [
    'an unknown tier and a limit',
    'tier: none\ntiers: { standard: { rpm: 0 } }',
    [/^1:1: tier: expected one of the tiers: standard/, /^2:\d+: tiers\.standard\.rpm/],
  ],
];
for (const [what, text, problems] of COMBINATIONS) {
  test(`reported together: ${what}`, () => {
    const lines = problemsOf(text);
    assert.equal(lines.length, problems.length, lines.join('\n'));
    for (const [index, problem] of problems.entries()) assert.match(lines[index] ?? '', problem);
  });
}
