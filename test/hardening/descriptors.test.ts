/** A process that may open few files serves fewer connections, and blames no provider for what itself has run out of. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { OPENS_AFTER_FAILURES } from '../../src/upstream/breaker.ts';
import { LAST_RESORT_MAX_UNAVAILABLE } from '../../src/upstream/choice.ts';
import { answering, completion } from '../support/answers.ts';
import { PATHS, SERVE, Workplace } from '../support/cli.ts';
import { FakeUpstream, type UpstreamCall } from '../support/fake-upstream.ts';
import { RawConnection } from '../support/raw.ts';
import { ServingProcess } from '../support/serving.ts';
import { until } from '../support/wait.ts';

const PRELOAD = join(import.meta.dirname, 'take-descriptors.ts');
const PROBE = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n';
const BODY = '{"model":"host/m","messages":[{"role":"user","content":"hi"}]}';

/** A gateway that may have so many files open, and one host at two addresses: what the first rejects is tried at the second. */
async function serveWith(t: TestContext, files: number, words: readonly string[] = SERVE) {
  const host = await FakeUpstream.start();
  t.after(() => host.close());
  const place = new Workplace(
    t,
    `listen: 127.0.0.1:0
state: ./state.db
overload: { loop_delay: off }
providers:
  host:
    kind: openai
    upstreams: [{ base_url: 'http://127.0.0.1:${host.port}/a' }, { base_url: 'http://127.0.0.1:${host.port}/b' }]
    models: { m: { input: 0, output: 0 } }
`,
  );
  const { key } = await place.createKey('app');
  const child = spawn('/bin/sh', ['-c', `ulimit -n ${files} && exec "$0" "$@"`, process.execPath, ...words], {
    cwd: place.directory,
    env: PATHS,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const serving = new ServingProcess(child);
  t.after(() => serving.discard());
  await serving.listening();
  const request =
    `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
  return { place, host, serving, key, request, port: Number(new URL(serving.url).port) };
}

test('requests that find no descriptor left are not held against their provider', async (t) => {
  const { place, host, serving, key, request, port } = await serveWith(t, 256, ['--import', PRELOAD, ...SERVE]);
  host.follow(answering(completion('hi')));
  const connection = await RawConnection.sending(port, PROBE);
  assert.equal((await connection.answer()).status, 200);
  serving.signal('SIGUSR2');
  await until(() => serving.output.includes('EMFILE'));
  for (let asked = 0; asked < OPENS_AFTER_FAILURES + LAST_RESORT_MAX_UNAVAILABLE; asked++) {
    connection.send(request);
    const { status, body } = await connection.answer();
    assert.equal(status, 502);
    assert.match(body, /The gateway has no connection left/);
  }
  serving.signal('SIGUSR2');
  await until(() => serving.output.includes('given back'));
  assert.equal(await serving.chatOutcome(key, { model: 'host/m' }), '200');
  const { upstreams } = await place.json<{ upstreams: { state: string; failures: number }[] }>('status');
  assert.deepEqual(
    upstreams.map(({ state, failures }) => [state, failures]),
    [
      ['closed', 0],
      ['closed', 0],
    ],
  );
  const rows = await place.json<{ failure: { reason: string } | null }[]>('requests', 'list');
  assert.deepEqual([...new Set(rows.map(({ failure }) => failure?.reason))].toSorted(), ['no_socket', undefined]);
});

test('max_connections leaves descriptors for the providers, and log and doctor say what the process may open', async (t) => {
  const [FILES, IDLE, AT_ONCE] = [400, 340, 60];
  const { place, host, serving, request, port } = await serveWith(t, FILES);
  const calls: UpstreamCall[] = [];
  let asked = 0;
  host.follow((call) => {
    calls.push(call);
    // Each of them has a connection of its own by then.
    if (++asked >= AT_ONCE) for (const each of calls.splice(0)) each.answer(200, completion('hi'));
  });
  const connections: RawConnection[] = [];
  for (let opened = 0; opened < IDLE; opened++) {
    const connection = await RawConnection.sending(port, PROBE);
    assert.equal((await connection.answer()).status, 200);
    connections.push(connection);
  }
  const last = connections.slice(-AT_ONCE);
  for (const connection of last) connection.send(request);
  const statuses = await Promise.all(last.map(async (connection) => (await connection.answer()).status));
  assert.deepEqual(new Set(statuses), new Set([200]));
  const { level } = await serving.logged(/may open 400 files, so it takes 72 connections .*max_connections: 8192/);
  assert.equal(level, 'warn');
  // The host has no list of models, which is a fault.
  const { stdout } = await place.run(['doctor', '--json']);
  const { checks } = JSON.parse(stdout) as { checks: { name: string; message: string }[] };
  const found = checks.find(({ name }) => name === 'open files');
  assert.match(found?.message ?? '', /^the gateway may open 400 files, so it takes 72 connections/);
});
