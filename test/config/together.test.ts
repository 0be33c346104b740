/** Faults of a config file that stand there together: all are reported at once, and none hides another. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultsOf } from '../support/configs.ts';

test('all faults are reported at once, in the order of their lines', () => {
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
  const places = faultsOf(text).map((line) => /^(\d+):\d+: ([^:]+):/.exec(line)?.slice(1).join(' '));
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

/** Faults of several kinds, of which one must not hide another. */
const TOGETHER: readonly (readonly [what: string, text: string, faults: readonly RegExp[]])[] = [
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
  ['a repeated key and an unknown one', 'credit: off\ncredit: off\nfoo: 1', [/^2:1: /, /^3:1: foo: unknown key/]],
  [
    'a tier that is not there and a limit',
    'tier: none\ntiers: { standard: { rpm: 0 } }',
    [/^1:1: tier: expected one of the tiers: standard/, /^2:\d+: tiers\.standard\.rpm/],
  ],
];
for (const [what, text, faults] of TOGETHER) {
  test(`together are reported ${what}`, () => {
    const lines = faultsOf(text);
    assert.equal(lines.length, faults.length, lines.join('\n'));
    for (const [index, fault] of faults.entries()) assert.match(lines[index] ?? '', fault);
  });
}
