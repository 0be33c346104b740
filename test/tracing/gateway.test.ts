/** Traces of a real gateway: which spans each kind of request has, what they say, and what they never do. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { NO_USER_LIMITS } from '../../src/state/levels.ts';
import { chunk, completion, DONE, event, usageChunk } from '../support/answers.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { chat, type Reply, startTestGateway, type TestGateway, type TestKey, withGateway } from '../support/gateway.ts';
import { type ReadSpan, TestCollector } from '../support/otlp.ts';
import { until } from '../support/wait.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const CONTEXT = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=1' };
const PROMPT = 'prompt-canary-1234';
const ANSWER = 'answer-canary-5678';
const CREDENTIAL = 'upstream-credential-canary';
const COLLECTOR_TOKEN = 'collector-token-canary';
const MODEL = { upstream: 'vendor-1', input: 1, output: 2 };

/** `name: what it says`, children indented, in the order in which they began. */
function picture(spans: readonly ReadSpan[], say: (span: ReadSpan) => string): string[] {
  const inOrder = spans.toSorted((a, b) => Number(a.startNanos - b.startNanos));
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const below = (parent: string | undefined, indent: string): string[] =>
    inOrder
      .filter(({ parentSpanId = '' }) => (parent === undefined ? !ids.has(parentSpanId) : parentSpanId === parent))
      .flatMap((span) => [`${indent}${span.name}: ${say(span)}`.trimEnd(), ...below(span.spanId, `${indent}  `)]);
  return below(undefined, '');
}

/** How it ended, in a few words. */
function ending({ kind, attributes, isError }: ReadSpan): string {
  const { 'error.type': type, 'inf_gw.error.code': code, 'inf_gw.admission.verdict': verdict } = attributes;
  const words = [kind, attributes['http.response.status_code'], verdict, code, attributes['inf_gw.outcome']];
  if (isError) words.push(`ERROR ${type}`);
  return words.filter((word) => word !== undefined).join(' ');
}

describe('a gateway with two threads and two upstreams', () => {
  let gateway: TestGateway;
  let collector: TestCollector;
  let hosts: FakeUpstream[];
  /** What the upstreams were sent, and what clients got, by the kind of request. */
  const sent = new Map<string, string | undefined>();
  const replies = new Map<string, Reply>();
  let key: TestKey;
  let cancelled: string | undefined;

  /** Sends a request that the next of these statuses answers, whichever upstream is asked. */
  async function ask(
    name: string,
    body: string,
    { by = key, statuses = [200], headers = {} as Record<string, string> } = {},
  ) {
    const left = [...statuses];
    for (const host of hosts) {
      host.follow((call) => {
        sent.set(name, call.header('traceparent'));
        sent.set(`${name} state`, call.header('tracestate'));
        const status = left.shift() ?? 200;
        if (status !== 200) return call.answer(status, { error: { message: ANSWER } });
        if (!call.body.includes('"stream":true'))
          return call.answer(200, completion(ANSWER, { model: 'vendor-1-mini' }));
        call.stream();
        for (const piece of [chunk(ANSWER), chunk('', 'stop'), usageChunk(), DONE]) call.send(piece);
        call.end();
      });
    }
    replies.set(name, await gateway.complete(by, body, { headers }));
  }

  /** A client that leaves in the middle of its stream. */
  async function cancel(): Promise<void> {
    for (const host of hosts) {
      host.follow(async (call) => {
        call.stream();
        call.send(
          event({ id: 'chatcmpl-9', choices: [{ index: 0, delta: { content: 'so much' }, finish_reason: null }] }),
        );
        await call.closed;
      });
    }
    const leaving = new AbortController();
    const options = { key, body: message({ stream: true }), method: 'POST', signal: leaving.signal };
    const response = await gateway.open('/v1/chat/completions', options);
    cancelled = response.headers.get('x-request-id') ?? '';
    await response.body?.getReader().read();
    leaving.abort();
    await until(() => gateway.rows(key).some(({ outcome }) => outcome === 'cancelled'));
  }

  function message(fields: Record<string, unknown> = {}): string {
    return chat({ messages: [{ role: 'user', content: PROMPT }], ...fields });
  }

  function spansOf(id: string | null | undefined): ReadSpan[] {
    const isOf = ({ attributes }: ReadSpan) => String(attributes['http.response.header.x-request-id']) === id;
    const root = collector.spans.find(isOf);
    if (root === undefined) return [];
    const ids = new Set<string | undefined>([root.spanId]);
    // Children follow their parents.
    return collector.spans.filter((span) => {
      if (span !== root && !ids.has(span.parentSpanId)) return false;
      ids.add(span.spanId);
      return true;
    });
  }

  const spans = (name: string) => spansOf(replies.get(name)?.headers.get('x-request-id'));

  before(async () => {
    collector = await TestCollector.start();
    hosts = await Promise.all([FakeUpstream.start(), FakeUpstream.start()]);
    const upstreams = hosts.map(({ port }) => ({ base_url: `http://127.0.0.1:${port}/v1`, api_key: CREDENTIAL }));
    const otel = {
      endpoint: `${collector.endpoint}/base/`,
      headers: { 'x-token': COLLECTOR_TOKEN },
      attributes: { 'deployment.environment.name': 'test' },
    };
    const providers = { fake: { kind: 'openai', upstreams, models: { echo: MODEL } } };
    gateway = await startTestGateway({ config: { threads: 2, node: 'blue', otel, providers } });
    key = gateway.key();
    await ask('plain', message({ max_tokens: 50, n: 2 }), { headers: CONTEXT });
    await ask('stream', message({ stream: true }));
    await ask('retried', message(), { statuses: [429, 200] });
    await ask('failed', message(), { statuses: [500] });
    await ask('not sampled', message(), {
      headers: { ...CONTEXT, traceparent: CONTEXT.traceparent.replace(/01$/, '00') },
    });
    await ask('no money', message(), { by: gateway.key({ spendLimitNanos: 0n }) });
    const slow = gateway.key({ rpm: 1 });
    await ask('first', message(), { by: slow });
    await ask('second', message(), { by: slow });
    const outer = gateway.group({ name: 'research', rpm: 1 });
    const inner = gateway.group({ name: 'nlp', groupId: outer });
    const own = gateway.key({ groupId: inner, userLimits: { ...NO_USER_LIMITS, rpm: 1 } });
    await ask('in groups', message({ user: 'zoe' }), { by: own });
    await ask('a user too often', message({ user: 'zoe' }), { by: own });
    await ask('a group too often', message({ user: 'ann' }), { by: own });
    await ask('no such model', message({ model: 'fake/none' }));
    await cancel();
    replies.set('listing', await gateway.request('/v1/models/fake%2Fecho', { key }));
    replies.set('lost', await gateway.request(`/v1/${key.secret}`));
    replies.set('health', await gateway.request('/healthz'));
    await gateway.drain(10_000);
  });
  after(async () => {
    await gateway.stop();
    await Promise.all(hosts.map((host) => host.close()));
    await collector.close();
  });

  test('records each kind of request with its spans', () => {
    assert.deepEqual(picture(spans('stream'), ending), [
      'POST /v1/chat/completions: server 200 ok',
      '  admission: internal admitted',
      '  chat vendor-1: client 200 ok',
      '    relay: internal ok',
    ]);
    assert.deepEqual(picture(spans('retried'), ending), [
      'POST /v1/chat/completions: server 200 ok',
      '  admission: internal admitted',
      '  chat vendor-1: client 429 ERROR 429',
      '  chat vendor-1: client 200 ok',
      '    relay: internal ok',
    ]);
    assert.deepEqual(picture(spans('failed'), ending), [
      'POST /v1/chat/completions: server 502 upstream_error upstream_error ERROR upstream_error',
      '  admission: internal admitted',
      '  chat vendor-1: client 500 upstream_error ERROR 500',
      '    relay: internal upstream_error ERROR 500',
    ]);
    assert.deepEqual(picture(spansOf(cancelled), ending), [
      'POST /v1/chat/completions: server 200 cancelled',
      '  admission: internal admitted',
      '  chat vendor-1: client 200 cancelled',
      '    relay: internal cancelled',
    ]);
  });

  test('records refusals with their verdict, and as no errors', () => {
    assert.deepEqual(picture(spans('no money'), ending), [
      'POST /v1/chat/completions: server 402 spend_limit_reached',
      '  admission: internal spend_limit_reached',
    ]);
    assert.deepEqual(picture(spans('second'), ending), [
      'POST /v1/chat/completions: server 429 rate_limited',
      '  admission: internal requests_per_minute',
    ]);
    assert.deepEqual(picture(spans('no such model'), ending), [
      'POST /v1/chat/completions: server 404 model_not_found',
    ]);
    assert.deepEqual(picture(spans('listing'), ending), ['GET /v1/models/{model}: server 200']);
    assert.deepEqual(picture(spans('lost'), ending), ['GET: server 404 invalid_request']);
    assert.deepEqual(spans('health'), []);
  });

  test('goes on with the trace of its client, and its upstream with the attempt', () => {
    const all = spans('plain');
    const [request, , call] = all;
    assert.ok(all.every(({ traceId, traceState }) => traceId === TRACE && traceState === 'vendor=1'));
    assert.equal(request?.parentSpanId, PARENT);
    assert.deepEqual(
      all.map(({ flags }) => flags),
      [0x301, 0x101, 0x101, 0x101],
    );
    assert.equal(sent.get('plain'), `00-${TRACE}-${call?.spanId}-01`);
    assert.equal(sent.get('plain state'), 'vendor=1');
    const [own, , asked] = spans('stream');
    assert.equal(own?.parentSpanId, undefined);
    assert.equal(sent.get('stream'), `00-${own?.traceId}-${asked?.spanId}-01`);
  });

  test('records nothing that its client does not want recorded, and says so to the upstream', () => {
    assert.equal(replies.get('not sampled')?.status, 200);
    assert.deepEqual(spans('not sampled'), []);
    assert.equal(sent.get('not sampled'), `00-${TRACE}-${PARENT}-00`);
    assert.equal(sent.get('not sampled state'), 'vendor=1');
  });

  test('describes the request by the conventions for HTTP', () => {
    const {
      'http.response.header.x-request-id': ids,
      'inf_gw.cost_usd': cost,
      ...attributes
    } = spans('plain')[0]?.attributes ?? {};
    assert.deepEqual(ids, [replies.get('plain')?.headers.get('x-request-id')]);
    assert.equal(cost, 0.00002);
    assert.deepEqual(attributes, {
      'http.request.method': 'POST',
      'url.scheme': 'http',
      'url.path': '/v1/chat/completions',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'network.protocol.version': '1.1',
      'server.address': '127.0.0.1',
      'server.port': gateway.port,
      'user_agent.original': 'node',
      'inf_gw.key.id': key.id,
      'inf_gw.model': 'fake/echo',
      'inf_gw.outcome': 'ok',
    });
  });

  test('names the groups and the end user of a request, and whose limit refuses it', () => {
    const said = (name: string) => {
      const [request, admission] = spans(name).map(({ attributes }) => attributes);
      const { 'inf_gw.groups': groups, 'enduser.id': user } = request ?? {};
      return [groups, user, admission?.['inf_gw.admission.level']];
    };
    assert.deepEqual(said('in groups'), [['@nlp', '@research'], 'zoe', undefined]);
    assert.deepEqual(said('a user too often'), [undefined, 'zoe', 'end user']);
    assert.deepEqual(said('a group too often'), [undefined, 'ann', '@research']);
    assert.deepEqual(said('plain'), [undefined, undefined, undefined]);
  });

  test('describes an attempt by the conventions for generative AI', () => {
    const { 'server.port': port, 'inf_gw.upstream': upstream, ...attributes } = spans('plain')[2]?.attributes ?? {};
    assert.equal(upstream, `fake#${hosts.findIndex((host) => host.port === port) + 1}`);
    assert.deepEqual(attributes, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'vendor-1',
      'gen_ai.request.max_tokens': 50,
      'gen_ai.request.choice.count': 2,
      'gen_ai.response.id': 'chatcmpl-1',
      'gen_ai.response.model': 'vendor-1-mini',
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 5,
      'server.address': '127.0.0.1',
      'http.response.status_code': 200,
      'inf_gw.outcome': 'ok',
      'inf_gw.usage.source': 'reported',
    });
    const stream = spans('stream')[2]?.attributes ?? {};
    assert.equal(stream['gen_ai.request.stream'], true);
    assert.equal(typeof stream['gen_ai.response.time_to_first_chunk'], 'number');
    assert.equal(spans('retried')[3]?.attributes['http.request.resend_count'], 1);
    assert.deepEqual(
      spans('stream')[3]?.events.map(({ name }) => name),
      ['first_byte'],
    );
  });

  test('says in every export who it is', () => {
    for (const { resource, headers, path } of collector.exports) {
      const { 'service.version': version, ...others } = resource;
      assert.match(String(version), /^\d+\.\d+\.\d+/);
      assert.deepEqual(others, {
        'service.name': 'inf-gw',
        'service.instance.id': 'blue',
        'deployment.environment.name': 'test',
      });
      assert.equal(headers['x-token'], COLLECTOR_TOKEN);
      assert.equal(path, '/base/v1/traces');
    }
  });

  test('tells no prompt, no answer and no secret', () => {
    const told = JSON.stringify(
      collector.exports.map(({ spans, resource }) => ({ spans, resource })),
      (_, value) => (typeof value === 'bigint' ? String(value) : value),
    );
    assert.ok(told.includes(key.id));
    for (const secret of [PROMPT, ANSWER, key.secret, CREDENTIAL, COLLECTOR_TOKEN])
      assert.ok(!told.includes(secret), secret);
  });
});

describe('requests are answered', () => {
  test('while the collector never answers', async () => {
    const collector = await TestCollector.start();
    collector.answers = ['silent'];
    await withGateway({ config: { otel: { endpoint: collector.endpoint } } }, async (gateway) => {
      gateway.upstream.follow((call) => call.answer(200, completion('hi')));
      const key = gateway.key();
      assert.equal((await gateway.complete(key)).status, 200);
      await collector.exported(1);
      assert.equal((await gateway.complete(key)).status, 200);
      await collector.close();
    });
  });

  test('where there is no collector, and the gateway stops', () =>
    withGateway({ config: { otel: { endpoint: 'http://127.0.0.1:1' } } }, async (gateway) => {
      gateway.upstream.follow((call) => call.answer(200, completion('hi')));
      assert.equal((await gateway.complete(gateway.key())).status, 200);
      assert.equal(await gateway.drain(10_000), 0);
    }));
});
