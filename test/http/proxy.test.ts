/** Providers behind an HTTP proxy: how requests reach them, and that clients learn neither its address nor its faults. */
import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { answering, chunk, completion, DONE, streaming } from '../support/answers.ts';
import { pem } from '../support/certificates.ts';
import { assertError } from '../support/expect.ts';
import { type Conduct, FakeProxy } from '../support/fake-proxy.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { chat, sharedGateway, type TestGateway, UPSTREAM_KEY, withGateway } from '../support/gateway.ts';

const USER = 'proxy-user-canary';
const PASSWORD = 'proxy-p@ss/word-canary';

const proxy = await FakeProxy.start();
const address = `http://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${proxy.port}`;
const secure = await FakeUpstream.start({ cert: pem('valid.crt'), key: pem('host.key') });
after(() => Promise.all([proxy.close(), secure.close()]));
beforeEach(() => proxy.reset());

const authorities = getCACertificates('default');
setDefaultCACertificates([...authorities, pem('authority.crt')]);
after(() => setDefaultCACertificates(authorities));

const ONCE = { retry: { attempts: 1 } };
const gateway = await sharedGateway({ provider: { proxy: address }, config: ONCE });
const hostOf = ({ upstream }: TestGateway) => `127.0.0.1:${upstream.port}`;
const tunnels = () => proxy.asked.map(({ authority }) => authority);

function assertNoLeak({ text, headers }: { text: string; headers: Headers }): void {
  const read = text + JSON.stringify([...headers]);
  for (const secret of [USER, PASSWORD, `127.0.0.1:${proxy.port}`, 'tunnel']) assert.ok(!read.includes(secret), read);
}

describe('a provider with a proxy', () => {
  test('is reached by a tunnel, which is kept, and the credentials reach the proxy alone', async () => {
    gateway.upstream.follow(answering(completion('hi')));
    for (let i = 0; i < 3; i++) assert.equal((await gateway.complete(gateway.key())).status, 200);
    const authorization = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`;
    assert.deepEqual(proxy.asked, [{ authority: hostOf(gateway), authorization }]);
    assert.equal(proxy.plainRequests, 0);
    const [call] = gateway.upstream.calls;
    assert.deepEqual(
      ['authorization', 'host', 'proxy-authorization', 'proxy-connection', 'via'].map((name) => call?.header(name)),
      [`Bearer ${UPSTREAM_KEY}`, hostOf(gateway), undefined, undefined, undefined],
    );
    assert.equal(call?.path, '/base/v1/chat/completions');
  });

  test('is spoken to by TLS in the tunnel, and streams', () =>
    withGateway({ provider: { base_url: `https://127.0.0.1:${secure.port}/v1`, proxy: address } }, async (other) => {
      secure.follow(streaming(chunk('Hel'), chunk('lo'), chunk('', 'stop'), DONE));
      const reply = await other.complete(other.key(), chat({ stream: true }));
      assert.equal(reply.status, 200, reply.text);
      assert.match(reply.text, /Hel.*lo.*\[DONE\]/s);
      assert.deepEqual(tunnels(), [`127.0.0.1:${secure.port}`]);
    }));

  test('is reached through a proxy that itself speaks TLS', async () => {
    const tls = await FakeProxy.start({ cert: pem('valid.crt'), key: pem('host.key') });
    const provider = { base_url: `https://127.0.0.1:${secure.port}/v1`, proxy: `https://127.0.0.1:${tls.port}` };
    await withGateway({ provider }, async (other) => {
      secure.follow(answering(completion('hi')));
      assert.equal((await other.complete(other.key())).status, 200);
      assert.equal(tls.asked.length, 1);
    });
    await tls.close();
  });

  test('has to prove by its certificate that it is the host, whatever the proxy connects to', () =>
    withGateway(
      { provider: { base_url: 'https://another.example/v1', proxy: address }, config: ONCE },
      async (other) => {
        proxy.target = { host: '127.0.0.1', port: secure.port };
        const key = other.key();
        assertError(await other.complete(key), 502, 'upstream_error');
        assert.deepEqual(tunnels(), ['another.example:443']);
        assert.match(String((await other.row(key)).failure_message), /\(ERR_TLS_CERT_ALTNAME_INVALID\)$/);
      },
    ));

  test('may have it from the top level, have one of its own, or none', async () => {
    const own = await FakeProxy.start();
    const providersAt = ({ port }: FakeUpstream) => {
      const models = { m: { input: 1, output: 1 } };
      const host = { kind: 'openai', base_url: `http://127.0.0.1:${port}/v1`, models };
      return { shared: host, own: { ...host, proxy: own.url }, none: { ...host, proxy: 'off' } };
    };
    await withGateway({ config: { proxy: address }, providersAt }, async (other) => {
      other.upstream.follow(answering(completion('hi')));
      const counts = async (provider: string) => {
        const { status } = await other.complete(other.key(), chat({ model: `${provider}/m` }));
        return [status, proxy.asked.length, own.asked.length];
      };
      assert.deepEqual(await counts('none'), [200, 0, 0]);
      assert.deepEqual(await counts('shared'), [200, 1, 0]);
      assert.deepEqual(await counts('own'), [200, 1, 1]);
    });
    await own.close();
  });

  test('is not one that the environment names a proxy for', async () => {
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
    for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : proxy.url;
    try {
      await withGateway({}, async (other) => {
        other.upstream.follow(answering(completion('hi')));
        assert.equal((await other.complete(other.key())).status, 200);
      });
    } finally {
      for (const name of names) delete process.env[name];
    }
    assert.deepEqual([proxy.asked, proxy.plainRequests], [[], 0]);
  });

  test('passes none of its words on that contain the proxy', async () => {
    for (const secret of [PASSWORD, `127.0.0.1:${proxy.port}`, Buffer.from(`${USER}:${PASSWORD}`).toString('base64')]) {
      gateway.upstream.follow(answering({ error: { message: `I saw ${secret}.` } }, 400));
      const reply = await gateway.complete(gateway.key());
      assert.equal(assertError(reply, 400, 'invalid_request'), 'The provider rejected the request with status 400.');
      assertNoLeak(reply);
    }
  });
});

describe('a proxy that gives no connection is an upstream error that costs nothing:', () => {
  const FAULTS: readonly (readonly [conduct: Conduct, failure: RegExp])[] = [
    [407, /^the proxy answered 407: correct the user and password in `proxy`$/],
    [403, /^the proxy answered 403: it refuses this host$/],
    [502, /^the proxy answered 502: it cannot reach the host$/],
    [504, /^the proxy answered 504: it cannot reach the host$/],
    [405, /^the proxy answered 405$/],
    ['close', /^no connection to the proxy \(ECONNRESET\)$/],
  ];
  const fail = async (other: TestGateway, failure: RegExp) => {
    const key = other.key();
    const reply = await other.complete(key);
    assert.equal(
      assertError(reply, 502, 'upstream_error'),
      'The provider cannot be reached. Try again later, or use another model.',
    );
    assertNoLeak(reply);
    const row = await other.row(key);
    assert.deepEqual([row.failure_reason, row.cost_nanos], ['not_connected', 0]);
    assert.match(row.failure_message ?? '', failure);
    assert.equal(other.upstream.calls.length, 0);
  };

  for (const [conduct, failure] of FAULTS) {
    test(`${conduct}`, () =>
      withGateway({ provider: { proxy: address }, config: ONCE }, async (other) => {
        proxy.conduct = conduct;
        await fail(other, failure);
        proxy.conduct = 'open';
        other.upstream.follow(answering(completion('hi')));
        assert.equal((await other.complete(other.key())).status, 200);
      }));
  }

  test('one that nobody answers at', () =>
    withGateway({ provider: { proxy: 'http://127.0.0.1:9' }, config: ONCE }, (other) =>
      fail(other, /^no connection to the proxy \(ECONNREFUSED\)$/),
    ));

  test('one that is silent, within the time to connect', () => {
    const config = { ...ONCE, timeouts: { connect: '100ms' } };
    return withGateway({ provider: { proxy: address }, config }, async (other) => {
      proxy.conduct = 'silent';
      // Whichever of the two timers is first.
      await fail(other, /^(?:no connection within 100 ms|the proxy did not answer in time)$/);
    });
  });

  test('a fallback at a provider without one serves', async () => {
    const providersAt = ({ port }: FakeUpstream) => {
      const host = { kind: 'openai', base_url: `http://127.0.0.1:${port}/v1` };
      const [model, models] = [{ input: 1, output: 1 }, { m: { input: 1, output: 1 } }];
      return {
        fake: { ...host, proxy: address, models: { m: { ...model, fallback: ['near/m'] } } },
        near: { ...host, models },
      };
    };
    await withGateway({ providersAt }, async (other) => {
      proxy.conduct = 503;
      other.upstream.follow(answering(completion('hi')));
      const { status, headers } = await other.complete(other.key(), chat({ model: 'fake/m' }));
      assert.deepEqual([status, headers.get('x-inf-gw-model')], [200, 'near/m']);
    });
  });
});
