/** What the log says of a certificate as time goes by, on a clock that the test moves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServedCertificate } from '../../../src/gateway/certificate.ts';
import type { Log } from '../../../src/observe/log.ts';
import { TLS } from '../../support/certificates.ts';

const DAY_MS = 86_400_000;
const END_MS = Date.parse('2124-01-01');

test('from two weeks before its end, a certificate is spoken of every day, and after it too', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: END_MS - 15 * DAY_MS });
  let look = () => {};
  t.mock.method(globalThis, 'setInterval', (work: () => void) => {
    look = work;
    return { unref: () => undefined };
  });
  const lines: string[] = [];
  const note = (level: string) => (line: string) => lines.push(`${level} ${line.replace(/.*valid\.crt/, '')}`);
  const certificate = new ServedCertificate(TLS, { info: note('info'), warn: note('warn') } as unknown as Log);
  certificate.announce();
  certificate.watch(() => {});
  /** What is said by a moment. */
  const saidBy = (timeMs: number) => {
    lines.length = 0;
    t.mock.timers.setTime(timeMs);
    look();
    return lines;
  };
  assert.deepEqual(lines, ['info  is valid until 2124-01-01']);
  assert.deepEqual(saidBy(END_MS - 14 * DAY_MS - 5_000), []);
  assert.deepEqual(saidBy(END_MS - 14 * DAY_MS + 1), ['warn  is valid until 2124-01-01: renew it']);
  assert.deepEqual(saidBy(END_MS - 13.5 * DAY_MS), []);
  assert.deepEqual(saidBy(END_MS + DAY_MS), ['warn  is invalid since 2124-01-01: renew it']);
  certificate.close();
});
