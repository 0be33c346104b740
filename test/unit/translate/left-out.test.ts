/** Every row of what translations leave out is so, and nothing but what the rows say is named. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hosted } from './hosted.ts';
import { LEFT_OUT } from './left-out.ts';
import { lossOf, WAYS } from './losses.ts';

for (const row of LEFT_OUT) {
  describe(`${row.name}, ${row.what}`, () => {
    for (const way of WAYS) {
      const fields = row.by[way.client];
      if (fields === undefined) continue;
      test(`of ${way.client} is all that a host of ${way.host} is not told`, () => {
        assert.deepEqual(lossOf(row, fields, way).unsaid, []);
        if (row.ignoreTools === undefined) return;
        const { outcome } = lossOf({ ...row, ignoreTools: [] }, fields, way);
        assert.equal(outcome, 'refused', 'unless the config names it');
      });
    }

    test('is left out somewhere of each client that can say it', () => {
      for (const [client, fields] of Object.entries(row.by)) {
        const outcomes = WAYS.filter((way) => way.client === client).map((way) => lossOf(row, fields, way).outcome);
        assert.ok(outcomes.includes('left out'), `${client}: ${outcomes}`);
      }
    });
  });
}

test('names that a sender has made up fill no header, and do not break it', () => {
  const odd = { 'a\r\nSet-Cookie: x': 1, 'a, b': 1, ä: 1, [`${'n'.repeat(65)}`]: 1 };
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`field_${index}`, 1]));
  for (const fields of [odd, many]) {
    const result = hosted('chat', 'messages', { messages: [{ role: 'user', content: 'Hi', ...fields }] });
    assert.ok(result.ok);
    const { ignored } = result.hosted;
    assert.ok(ignored.length <= 9);
    assert.ok(ignored.every((name) => /^messages\.(?:\w{1,64}|\*)$/.test(name)));
    assert.ok(ignored.includes('messages.*'));
  }
});
