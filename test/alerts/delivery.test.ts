/** How an event reaches a webhook or a command: signed, bounded in time, and without a way around. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { deliver } from '../../src/alerts/deliver.ts';
import { testEvent } from '../../src/alerts/event.ts';
import type { CommandTarget, WebhookTarget } from '../../src/core/alert-targets.ts';
import { VERSION } from '../../src/core/program.ts';
import { until } from '../support/wait.ts';
import { Receiver } from './receiver.ts';

const EVENT = JSON.stringify(testEvent('eu-1', Date.UTC(2026, 10, 21)));
const LONG_MS = 60_000;

function webhook(url: string, changes: Partial<WebhookTarget> = {}): WebhookTarget {
  return {
    kind: 'webhook',
    name: 'webhook 1',
    url,
    secret: undefined,
    format: 'json',
    missingVariable: undefined,
    ...changes,
  };
}

function command(...words: string[]): CommandTarget {
  return { kind: 'command', name: 'command', words, missingVariable: undefined };
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'inf-gw-alerts-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('a webhook gets the event as JSON, with the HMAC of its very bytes', async (t) => {
  const receiver = await Receiver.start(t);
  const target = webhook(receiver.url('/a?b=c'), { secret: 'sésame' });
  assert.deepEqual(await deliver(target, EVENT, LONG_MS), { isDelivered: true, text: '200' });
  const [{ method, path, headers, body } = assert.fail()] = receiver.received;
  assert.deepEqual([method, path, body], ['POST', '/a?b=c', EVENT]);
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['user-agent'], `inf-gw/${VERSION}`);
  assert.equal(headers['x-inf-gw-signature'], createHmac('sha256', 'sésame').update(body).digest('hex'));
});

test('each attempt is signed with the id of its event and its own time, so that none can be sent again for ever', async (t) => {
  const receiver = await Receiver.start(t);
  const target = webhook(receiver.url(), { secret: 'sésame', format: 'slack' });
  receiver.answer = 500;
  const nowMs = t.mock.method(Date, 'now', () => 1_700_000_000_999).mock;
  await deliver(target, EVENT, LONG_MS);
  receiver.answer = 200;
  nowMs.mockImplementation(() => 1_700_000_005_000);
  await deliver(target, EVENT, LONG_MS);
  const { id } = JSON.parse(EVENT) as { id: string };
  const attempts = receiver.received.map(({ headers, body }) => {
    const [signedId, timestamp, signature] = ['id', 'timestamp', 'signature'].map((name) => headers[`webhook-${name}`]);
    const expected = createHmac('sha256', 'sésame').update(`${signedId}.${timestamp}.${body}`).digest('base64');
    assert.equal(signature, `v1,${expected}`);
    return [signedId, timestamp];
  });
  assert.deepEqual(attempts, [
    [id, '1700000000'],
    [id, '1700000005'],
  ]);
});

test('without a secret there is no signature, and Slack gets a text', async (t) => {
  const receiver = await Receiver.start(t);
  await deliver(webhook(receiver.url(), { format: 'slack' }), EVENT, LONG_MS);
  const [{ headers, body } = assert.fail()] = receiver.received;
  assert.deepEqual(
    Object.keys(headers).filter((name) => /signature|^webhook/.test(name)),
    [],
  );
  assert.deepEqual(JSON.parse(body), { text: '[info] inf-gw eu-1: this is a test: alerts reach this place' });
});

test('any other answer than 2xx is a failure, and a redirect is not followed', async (t) => {
  const receiver = await Receiver.start(t);
  for (const [status, text] of [
    [204, '204'],
    [302, '302: redirects are not followed'],
    [404, '404'],
    [500, '500'],
  ] as const) {
    receiver.answer = status;
    assert.deepEqual(await deliver(webhook(receiver.url()), EVENT, LONG_MS), { isDelivered: status === 204, text });
  }
  assert.deepEqual(
    receiver.received.map(({ path }) => path),
    ['/hook', '/hook', '/hook', '/hook'],
  );
});

test('a receiver that never answers, or is not there, is a failure that does not show its address', async (t) => {
  const receiver = await Receiver.start(t);
  receiver.answer = 'never';
  const silent = await deliver(webhook(receiver.url('/SECRET')), EVENT, 50);
  assert.deepEqual(silent, { isDelivered: false, text: 'no answer within 0.05 s' });
  await receiver.stop();
  const gone = await deliver(webhook('http://127.0.0.1:1/SECRET'), EVENT, LONG_MS);
  assert.deepEqual(gone, { isDelivered: false, text: 'not reached (ECONNREFUSED)' });
});

test('a host without a certificate that can be verified is told nothing, whatever the environment says', async (t) => {
  const read = (name: string) => readFileSync(join(import.meta.dirname, '../faults/certificates', name));
  let requests = 0;
  const server = createServer({ cert: read('unknown.crt'), key: read('host.key') }, (_, response) => {
    requests++;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  t.after(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  });
  const answer = await deliver(webhook(`https://127.0.0.1:${port}/`), EVENT, LONG_MS);
  assert.match(answer.text, /^not reached \([A-Z_]*(?:CERT|VERIFY|SIGNATURE)[A-Z_]*\)$/);
  assert.equal(requests, 0);
});

test('a command gets the event on its standard input, and its words as they are', async (t) => {
  const file = join(folderOf(t), 'told');
  const answer = await deliver(
    command('sh', '-c', 'cat > "$1"; echo "$2" >> "$1"', 'sh', file, '$HOME;'),
    EVENT,
    LONG_MS,
  );
  assert.deepEqual(answer, { isDelivered: true, text: 'exit status 0' });
  assert.equal(readFileSync(file, 'utf8'), `${EVENT}\n$HOME;\n`);
});

test('a command that fails, cannot be run, or takes too long is a failure', async () => {
  assert.deepEqual(await deliver(command('sh', '-c', 'echo "no  mail\u001b" >&2; exit 3'), EVENT, LONG_MS), {
    isDelivered: false,
    text: 'exit status 3: no mail\ufffd',
  });
  assert.deepEqual(await deliver(command('/no/such/program'), EVENT, LONG_MS), {
    isDelivered: false,
    text: '/no/such/program cannot be run (ENOENT)',
  });
});

test('a command that takes too long ends with all that it has started', async (t) => {
  const file = join(folderOf(t), 'pid');
  const slow = command('sh', '-c', 'sleep 600 & echo $! > "$1"; wait', 'sh', file);
  assert.deepEqual(await deliver(slow, EVENT, 500), { isDelivered: false, text: 'not done within 0.5 s' });
  // On a busy machine it may have ended before that.
  const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  if (pid > 0) await until(() => !isRunning(pid));
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a target whose variable is not set is not tried', async () => {
  assert.deepEqual(await deliver(webhook('', { missingVariable: 'ALERT_URL' }), EVENT), {
    isDelivered: false,
    text: 'not sent: the variable ALERT_URL is not set',
  });
});
