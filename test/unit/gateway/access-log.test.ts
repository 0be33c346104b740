/** Requests without a valid key cannot fill the log. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccessLog } from '../../../src/gateway/access-log.ts';
import type { Exchange } from '../../../src/http/exchange.ts';
import type { Log } from '../../../src/observe/log.ts';

interface Line {
  readonly refused?: unknown;
  readonly error?: string;
}

function logOf(lines: Line[]): AccessLog {
  const write = (line: Line) => void lines.push(line);
  return new AccessLog({ info: write, debug: write, warn: write, isLevelEnabled: () => true } as unknown as Log);
}

/** A finished request. */
const ended = (code: string | undefined, keyId?: string) =>
  ({ path: '/v1/models', request: { method: 'GET' }, keyId, error: code && { code } }) as unknown as Exchange;

test('refusals without a valid key have ten lines in ten seconds and then a summary; all other requests have a line each', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const lines: Line[] = [];
  const log = logOf(lines);
  const refuse = (count: number) => {
    for (let n = 0; n < count; n++) log.add(ended(n % 4 === 0 ? 'unauthorized' : 'invalid_api_key'));
  };
  refuse(10);
  assert.equal(lines.splice(0).length, 10);
  refuse(1_000);
  assert.deepEqual(lines, []);
  for (let n = 0; n < 20; n++) log.add(ended(undefined, 'key_1'));
  for (let n = 0; n < 20; n++) log.add(ended('invalid_request', 'key_1'));
  assert.equal(lines.splice(0).length, 40);
  t.mock.timers.tick(10_000);
  assert.deepEqual(
    lines.splice(0).map(({ refused }) => refused),
    [{ unauthorized: 250, invalid_api_key: 750 }],
  );
  refuse(14);
  assert.equal(lines.splice(0).length, 10);
  t.mock.timers.tick(10_000);
  assert.deepEqual(
    lines.splice(0).map(({ refused }) => refused),
    [{ unauthorized: 1, invalid_api_key: 3 }],
    'the summary of an interval contains requests of the one before',
  );
  refuse(10);
  assert.equal(lines.splice(0).length, 10);
  t.mock.timers.tick(60_000);
  assert.deepEqual(lines, []);
});
