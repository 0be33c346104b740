/**
 * A single dispatch: what it leaves behind when it is over, and from when its first byte counts.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { NO_MEDIA } from '../../src/core/modalities.ts';
import { CHAT } from '../../src/dialects/chat/chat.ts';
import type { Log } from '../../src/observe/log.ts';
import { Dispatcher } from '../../src/proxy/dispatch.ts';
import { errorOf } from '../../src/proxy/respond.ts';
import { Meter } from '../../src/relay/meter.ts';
import { NO_BOUND, type StreamSink } from '../../src/relay/relay.ts';
import { MAX_IDLE_EVENTS, REPORT_MS } from '../../src/relay/stream.ts';
import { Attempt, UpstreamFailure } from '../../src/upstream/attempt.ts';
import { type Member, Provider } from '../../src/upstream/provider.ts';
import { readJsonBody } from '../../src/wire/body.ts';
import { NO_SECRETS } from '../../src/wire/secrets.ts';
import { chunk, completion, DONE, USAGE, usageChunk } from '../support/answers.ts';
import { chat } from '../support/gateway.ts';
import { flatPrices, testModel } from '../support/models.ts';

const HEAD = { contentType: 'application/json', isEncoded: false, retryAfter: undefined };
const SINK: StreamSink = { started: false, gone: false, start() {}, write: () => undefined };
const MODEL = testModel('p/m', flatPrices(1n));

type Host = (attempt: Attempt) => void;

function answer(attempt: Attempt, status: number, body: unknown): void {
  attempt.begin({ pause() {}, resume() {}, abort() {} });
  attempt.receiveHead({ ...HEAD, status });
  attempt.push(Buffer.from(JSON.stringify(body)));
  attempt.end();
}

/** A request that is dispatched to these hosts in turn. */
function dispatched(...hosts: readonly Host[]) {
  return dispatchedAs({}, ...hosts);
}

/** The same with these fields, at a provider that may stop streams whose clients leave. */
function dispatchedAs(
  { onDisconnect = 'drain', ...fields }: { onDisconnect?: 'abort' | 'drain'; stream?: boolean },
  ...hosts: readonly Host[]
) {
  const upstreams = hosts.map((host, i) => ({
    name: `p#${i + 1}`,
    weight: 1,
    upstream: {
      secrets: NO_SECRETS,
      ask: () => new Attempt(),
      attempt: () => {
        const attempt = new Attempt();
        host(attempt);
        return attempt;
      },
      close: async () => {},
    },
  }));
  const provider = new Provider(upstreams, { onDisconnect, tracksHealth: true });
  const visits: (readonly [string, string | undefined])[] = [];
  const dispatcher = new Dispatcher({
    providers: new Map([['p', provider]]),
    retry: { attempts: 3, budget: 0.2 },
    keepAliveMs: undefined,
    log: { info() {} } as unknown as Log,
    onAttempt: (upstream, failure) => visits.push([upstream, failure?.message]),
  });
  const read = readJsonBody(Buffer.from(chat(fields)));
  assert.ok(read.ok);
  const checked = CHAT.check(read.body, MODEL.id);
  assert.ok(checked.ok);
  const hosted = { request: checked.request, response: undefined, ignored: [] };
  const routes = [
    {
      model: MODEL,
      hosted,
      inputTokens: 1,
      broughtTokens: 0,
      outputTokens: 1,
      capTokens: undefined,
      maximumTokens: undefined,
      media: NO_MEDIA,
      upstream: undefined,
    },
  ] as const;
  const meter = new Meter(1);
  const dispatch = dispatcher.dispatch({
    requestId: 'req_1',
    request: checked.request,
    headers: {},
    routes,
    meter,
    sink: SINK,
    allowance: () => NO_BOUND,
  });
  return { dispatch, meter, visits, members: provider.members as readonly Member[] };
}

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

describe('a dispatch', () => {
  test('that is over leaves no timer and no request in flight, even if its client hangs up before the last bytes', async () => {
    const before = timers();
    const { dispatch, members } = dispatched((attempt) => answer(attempt, 200, completion('hi')));
    assert.equal((await dispatch.run()).termination.kind, 'json');
    dispatch.clientLeft();
    // Timers of earlier tests may end meanwhile.
    assert.ok(timers() <= before);
    assert.deepEqual(
      members.map(({ inFlight }) => inFlight),
      [0],
    );
  });

  test('reports each upstream that it tried, and what was wrong with it', async () => {
    const { dispatch, visits, members } = dispatched(
      (attempt) => attempt.fail(new UpstreamFailure('not_connected', 'connection refused')),
      (attempt) => answer(attempt, 503, {}),
      (attempt) => answer(attempt, 200, completion('hi')),
    );
    assert.equal((await dispatch.run()).termination.kind, 'json');
    assert.deepEqual(visits, [
      ['p#1', 'connection refused'],
      ['p#2', 'the upstream answered 503'],
      ['p#3', undefined],
    ]);
    assert.deepEqual(dispatch.served, { model: 'p/m', upstream: 'p#3', attempts: 3 });
    assert.deepEqual(
      members.map(({ inFlight }) => inFlight),
      [0, 0, 0],
    );
  });

  test('blames a host that it leaves, since its stream brings nothing of the answer', async () => {
    const { dispatch, visits } = dispatchedAs({ stream: true, onDisconnect: 'abort' }, (attempt) => {
      attempt.begin({ pause() {}, resume() {}, abort() {} });
      attempt.receiveHead({ ...HEAD, contentType: 'text/event-stream', status: 200 });
      attempt.push(Buffer.from(':\n\n'.repeat(MAX_IDLE_EVENTS + 1)));
    });
    const { termination } = await dispatch.run();
    assert.equal(errorOf(termination)?.failure?.reason, 'no_progress');
    const what = `nothing of the answer in ${MAX_IDLE_EVENTS + 1} events, ${3 * (MAX_IDLE_EVENTS + 1)} bytes`;
    assert.deepEqual(visits, [['p#1', what]]);
  });

  test('whose client leaves while it is behind meters what its host has sent by then', async () => {
    let isPaused = false;
    const waiting = chunk('one two three four '.repeat(50));
    const { dispatch, meter } = dispatchedAs({ stream: true, onDisconnect: 'abort' }, (attempt) => {
      attempt.begin({
        pause() {
          isPaused = true;
        },
        resume: () => void setImmediate(() => attempt.push(Buffer.from(waiting))),
        abort() {},
      });
      attempt.receiveHead({ ...HEAD, contentType: 'text/event-stream', status: 200 });
      attempt.push(Buffer.from(chunk('', null, { obfuscation: 'x'.repeat(100) }).repeat(500)));
    });
    const run = dispatch.run();
    dispatch.clientLeft();
    await run;
    assert.ok(isPaused);
    assert.ok(meter.figuresOfPart().usage.completionTokens >= 0.9 * 200);
  });

  test('whose client leaves as the process stands still reads the report that has arrived, though its time is over', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const hosts: Attempt[] = [];
    const { dispatch, meter } = dispatchedAs({ stream: true, onDisconnect: 'abort' }, (attempt) => {
      hosts.push(attempt);
      attempt.begin({ pause() {}, resume() {}, abort() {} });
      attempt.receiveHead({ ...HEAD, contentType: 'text/event-stream', status: 200 });
      attempt.push(Buffer.from(chunk('hi', 'stop')));
    });
    const run = dispatch.run();
    while (!meter.complete) await turn();
    dispatch.clientLeft();
    // Timers come before what has arrived.
    t.mock.timers.tick(10 * REPORT_MS);
    hosts[0]?.push(Buffer.from(usageChunk(USAGE) + DONE));
    hosts[0]?.end();
    await run;
    assert.equal(meter.figures().source, 'reported');
  });

  test('counts the time to the first byte from its start, even if the last response came at once', async () => {
    const { dispatch } = dispatched(
      (attempt) => void setTimeout(() => answer(attempt, 503, {}), 30),
      (attempt) => answer(attempt, 200, completion('hi')),
    );
    await dispatch.run();
    assert.ok((dispatch.firstByteMs ?? 0) >= 25, `${dispatch.firstByteMs} ms`);
  });
});
