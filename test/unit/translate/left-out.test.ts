/** Every row of what translations leave out is so, and nothing but what the rows say is named. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DIALECT_NAMES } from '../../../src/core/dialects.ts';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { translate } from '../../../src/translate/translate.ts';
import { readJsonBody } from '../../../src/wire/body.ts';
import { LEFT_OUT, patternOf, WAYS, type Way } from './left-out.ts';

const HELLO = { messages: [{ role: 'user', content: 'Hi' }] };
const LEAST: Readonly<Record<string, Fields>> = {
  chat: HELLO,
  messages: { ...HELLO, max_tokens: 4_000 },
  responses: { input: 'Hi' },
};

function translated(way: Way, fields: Fields, ignoreTools: readonly string[] = []) {
  const [from, to] = way.split(' → ').map((name) => DIALECT_NAMES.find((each) => each === name));
  assert.ok(from && to);
  const read = readJsonBody(Buffer.from(JSON.stringify({ model: 'host/model', ...LEAST[from], ...fields })));
  assert.ok(read.ok);
  const checked = DIALECTS[from].check(read.body, 'host/model');
  assert.ok(checked.ok, checked.ok ? '' : checked.problem);
  return translate(checked.request, to, { maxOutput: undefined, defaultOutput: 4_000, ignoreTools });
}

for (const way of WAYS) {
  describe(`${way} leaves out, and names`, () => {
    for (const { name, in: ways, with: others = [], ignoreTools } of LEFT_OUT) {
      const fields = ways[way];
      if (fields === undefined) continue;
      test(name, () => {
        const result = translated(way, fields, ignoreTools);
        assert.ok(result.ok, result.ok ? '' : result.problem);
        const named = result.ignored.filter((each) => !others.includes(each));
        assert.equal(named.length, 1, result.ignored.join());
        assert.match(named[0] ?? '', patternOf(name));
        if (ignoreTools !== undefined) assert.equal(translated(way, fields).ok, false);
      });
    }
  });
}

test('names that a sender has made up fill no header, and do not break it', () => {
  const odd = { 'a\r\nSet-Cookie: x': 1, 'a, b': 1, ä: 1, [`${'n'.repeat(65)}`]: 1 };
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`field_${index}`, 1]));
  for (const fields of [odd, many]) {
    const result = translated('chat → messages', { messages: [{ role: 'user', content: 'Hi', ...fields }] });
    assert.ok(result.ok);
    assert.ok(result.ignored.length <= 9);
    assert.ok(result.ignored.every((name) => /^messages\.(?:\w{1,64}|\*)$/.test(name)));
    assert.ok(result.ignored.includes('messages.*'));
  }
});
