/** The log of an outage: its begin and its end at once, and what changes meanwhile no more than now and then. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '../../../src/observe/log.ts';
import { OutageLog } from '../../../src/observe/outage-log.ts';

test('an outage that looks different with every attempt is a line at its begin, one every five seconds, and one at its end', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const outage = new OutageLog({ info: write, error: write } as unknown as Log, 'the state');
  const attempt = (count: number) => {
    for (let n = 0; n < count; n++) outage.fault(`refused ${n % 2}`);
  };
  attempt(100);
  assert.deepEqual(lines.splice(0), ['refused 0']);
  t.mock.timers.tick(5_000);
  assert.deepEqual(lines.splice(0), ['refused 1']);
  outage.fault('refused 1');
  t.mock.timers.tick(60_000);
  assert.deepEqual(lines.splice(0), []);
  outage.end();
  outage.fault('refused 1');
  assert.deepEqual(lines, ['the state can be written again', 'refused 1']);
});
