/** A gateway that speaks TLS: what it answers, to whom it shows which certificate, and what handshakes may cost. */
import assert from 'node:assert/strict';
import { chmodSync, rmSync } from 'node:fs';
import { describe, test } from 'node:test';
import { answering, completion } from '../support/answers.ts';
import { certificatePath, pem, TLS, TRUSTING } from '../support/certificates.ts';
import { CONFIG, PROGRAM, Workplace } from '../support/cli.ts';
import { chat, type GatewayOptions, type TestGateway, withGateway } from '../support/gateway.ts';
import { RawConnection, type SecureOptions } from '../support/raw.ts';
import type { Serving } from '../support/serving.ts';
import { until } from '../support/wait.ts';

const PROBE = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n';
/** The first bytes of a handshake, and no more: its record is said to be 512 bytes long. */
const BEGUN = Buffer.from([22, 3, 1, 2, 0]);
const ANY: SecureOptions = { rejectUnauthorized: false };

function withTls(options: GatewayOptions, run: (gateway: TestGateway) => Promise<void>): Promise<void> {
  return withGateway({ ...options, config: { tls: TLS, ...options.config } }, run);
}

async function probe(connection: RawConnection): Promise<void> {
  connection.send(PROBE);
  assert.equal((await connection.answer()).status, 200);
}

describe('a gateway with a certificate', () => {
  for (const threads of [1, 2]) {
    test(`serves clients that check it, with ${threads} threads`, () =>
      withTls({ config: { threads } }, async (gateway) => {
        gateway.upstream.follow(answering(completion('hi')));
        const key = gateway.key();
        for (let n = 0; n < 4; n++) {
          const connection = await RawConnection.open(gateway.port, TRUSTING);
          for (let request = 0; request < 2; request++) {
            connection.send(gateway.rawCompletion(key, chat()));
            const { status, body } = await connection.answer();
            assert.equal(status, 200, body);
          }
          connection.leave();
        }
        await until(() => gateway.rows(key).length === 8);
      }));
  }

  test('answers nothing in clear, nor with an old version of TLS', () =>
    withTls({}, async (gateway) => {
      const clear = await gateway.sending(PROBE);
      assert.doesNotMatch(await clear.rest(), /HTTP/);
      const old = RawConnection.open(gateway.port, { ...TRUSTING, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' });
      await assert.rejects(old);
      await probe(await RawConnection.open(gateway.port, TRUSTING));
    }));

  test('says what is malformed, as in clear', () =>
    withTls({}, async (gateway) => {
      const connection = await RawConnection.sending(gateway.port, 'GET / HTTP/9\r\n\r\n', TRUSTING);
      const { status, body } = await connection.answer();
      assert.equal(status, 400);
      assert.match(body, /invalid_request/);
    }));
});

test('a client that stops reading is disconnected, as in clear', () =>
  withTls({ config: { timeouts: { idle: '1s', request: '2m' } } }, async (gateway) => {
    gateway.upstream.follow(answering(completion('word '.repeat(4_000_000))));
    const connection = await RawConnection.open(gateway.port, TRUSTING);
    connection.pause();
    connection.send(gateway.rawCompletion(gateway.key(), chat()));
    await gateway.upstream.call();
    await until(async () => (await gateway.inFlight()) === 0);
    connection.leave();
  }));

describe('a handshake', () => {
  test('that does not end is ended, however many pieces it comes in', () =>
    withTls({ config: { timeouts: { request: '1s' } } }, async (gateway) => {
      const silent = await RawConnection.open(gateway.port);
      const slow = await RawConnection.open(gateway.port);
      const pieces = setInterval(() => slow.send(BEGUN), 100);
      assert.equal(await silent.rest(), '');
      assert.equal(await slow.rest(), '');
      clearInterval(pieces);
      await probe(await RawConnection.open(gateway.port, TRUSTING));
    }));

  test('that has not ended makes room first, the oldest first, and whoever has shown a key stays', () =>
    withTls({ config: { max_connections: 3 } }, async (gateway) => {
      gateway.upstream.follow(answering(completion('hi')));
      const own = await RawConnection.sending(gateway.port, gateway.rawCompletion(gateway.key(), chat()), TRUSTING);
      assert.equal((await own.answer()).status, 200);
      const first = await RawConnection.open(gateway.port);
      const second = await RawConnection.open(gateway.port);
      for (const connection of [first, second]) connection.send(BEGUN);
      const third = await RawConnection.open(gateway.port, TRUSTING);
      await probe(third);
      assert.equal(await first.rest(), '');
      const fourth = await RawConnection.open(gateway.port, TRUSTING);
      await probe(fourth);
      assert.equal(await second.rest(), '');
      for (const connection of [own, third, fourth]) await probe(connection);
    }));

  test('that has not ended does not outlive the gateway', async () => {
    let left: RawConnection | undefined;
    await withTls({}, async (gateway) => {
      left = await RawConnection.open(gateway.port);
      left.send(BEGUN);
      await probe(await RawConnection.open(gateway.port, TRUSTING));
    });
    assert.equal(await left?.rest(), '');
  });
});

describe('the files of a certificate', () => {
  const FILES = `tls: { cert: ./gateway.crt, key: ./gateway.key }\nlog: { level: info }\n${CONFIG}`;

  function prepare(t: { after(cleanUp: () => void): void }, config = FILES): Workplace {
    const place = new Workplace(t, config);
    place.write('gateway.crt', pem('valid.crt'));
    place.write('gateway.key', pem('host.key'));
    return place;
  }

  async function shownBy(serving: Serving): Promise<string> {
    const connection = await RawConnection.open(Number(new URL(serving.url).port), ANY);
    await probe(connection);
    const { shownName } = connection;
    connection.leave();
    return shownName;
  }

  test('are read again when they change; connections stay, and what cannot serve is not used', async (t) => {
    const place = prepare(t, `threads: 2\n${FILES}`);
    const serving = await place.serveHere();
    await serving.logged(/^the certificate in .*gateway\.crt is valid until 2\d{3}-\d\d-\d\d$/);
    const before = await RawConnection.open(Number(new URL(serving.url).port), ANY);
    await probe(before);
    place.write('gateway.crt', pem('expired.crt'));
    await serving.logged(
      /^the changed certificate is not used, and the earlier one stays: tls\.cert: .* expired on 2024-/,
    );
    assert.equal(await shownBy(serving), 'localhost');
    place.write('gateway.crt', pem('wrong-name.crt'));
    await until(async () => (await shownBy(serving)) === 'elsewhere');
    await probe(before);
    before.leave();
    rmSync(`${place.directory}/gateway.key`);
    await serving.logged(/the earlier one stays: tls\.key: there is no file .*gateway\.key$/);
    assert.equal(await shownBy(serving), 'elsewhere');
    place.write('gateway.crt', pem('valid.crt'));
    place.write('gateway.key', pem('host.key'));
    await until(async () => (await shownBy(serving)) === 'localhost');
  });

  test('are read with every reload, which is refused if they cannot serve or if TLS goes', async (t) => {
    const place = prepare(t);
    const serving = await place.serveHere();
    const other = (cert: string) => FILES.replace('./gateway.crt', cert);
    for (const [config, error] of [
      [other(certificatePath('expired.crt')), /^error: tls\.cert: .*expired\.crt expired on 2024-02-01; renew it\n$/],
      [FILES.replace(/^tls.*\n/, ''), /^error: tls: restart the gateway to change this\n$/],
    ] as const) {
      place.write('config.yaml', config);
      const { status, stderr } = await place.run(['reload']);
      assert.equal(status, 1);
      assert.match(stderr, error);
      assert.equal(await shownBy(serving), 'localhost');
    }
    place.write('config.yaml', other(certificatePath('wrong-name.crt')));
    assert.equal((await place.run(['reload'])).status, 0);
    assert.equal(await shownBy(serving), 'elsewhere');
  });

  /** All of these suites work with an RSA key. */
  test('serve no suite of TLS 1.2 without forward secrecy, also after a renewal', async (t) => {
    const place = prepare(t);
    const serving = await place.serveHere();
    place.write('gateway.crt', pem('rsa.crt'));
    place.write('gateway.key', pem('rsa.key'));
    assert.equal((await place.run(['reload'])).status, 0);
    const port = Number(new URL(serving.url).port);
    const open = (ciphers: string) => RawConnection.open(port, { ...ANY, ciphers, maxVersion: 'TLSv1.2' });
    for (const ciphers of ['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-CHACHA20-POLY1305'])
      await probe(await open(ciphers));
    for (const ciphers of ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'AES128-SHA256', 'AES256-SHA'])
      await assert.rejects(open(ciphers), /handshake failure/i, ciphers);
    assert.equal(await shownBy(serving), 'rsa');
  });

  test('serve no client with RSA key exchange from the start', async (t) => {
    const place = prepare(t);
    place.write('gateway.crt', pem('rsa.crt'));
    place.write('gateway.key', pem('rsa.key'));
    const port = Number(new URL((await place.serveHere()).url).port);
    const options: SecureOptions = { ...ANY, maxVersion: 'TLSv1.2' };
    await assert.rejects(RawConnection.open(port, { ...options, ciphers: 'AES128-GCM-SHA256' }), /handshake failure/i);
    await probe(await RawConnection.open(port, options));
  });

  test('that cannot serve keep `serve` and `config check` from succeeding, before the state is made', async (t) => {
    const place = prepare(t);
    place.write('gateway.crt', pem('expired.crt'));
    for (const { status, stderr } of [await place.serveInVain(), await place.run(['config', 'check', '--json'])]) {
      assert.equal(status, 1);
      assert.match(stderr, /^error: tls\.cert: .*gateway\.crt expired on 2024-02-01; renew it\n$/);
    }
    assert.throws(() => place.read('state.db'), /ENOENT/);
  });

  test('are in what commands say of the gateway, whose address is https', async (t) => {
    const place = prepare(t);
    const valid = 'valid until 2124-01-01';
    const doctor = async () => (await place.run(['doctor'])).stdout;
    assert.match(await doctor(), /^warning +tls: every user can read the key .*gateway\.key$/m);
    chmodSync(`${place.directory}/gateway.key`, 0o640);
    assert.match(
      await doctor(),
      new RegExp(`^ok +tls: .*gateway\\.crt, for 127\\.0\\.0\\.1, localhost, ${valid}$`, 'm'),
    );
    const serving = await place.serveHere();
    const { port } = new URL(serving.url);
    await serving.logged(new RegExp(`^listening on https://127\\.0\\.0\\.1:${port}$`));
    assert.match(
      (await place.run(['status'])).stdout,
      new RegExp(`address +https://127\\.0\\.0\\.1:${port}, 1 thread`),
    );
    assert.match(await doctor(), new RegExp(`ready at 127\\.0\\.0\\.1:${port}`));
    const checked = (await place.run(['config', 'check'])).stdout;
    assert.match(checked, new RegExp(`tls +/.*gateway\\.crt, ${valid}`));
    assert.match(checked, /health checks +https:/);
    place.environment.NODE_EXTRA_CA_CERTS = certificatePath('authority.crt');
    const call =
      'fetch(process.env.OPENAI_BASE_URL + "/models", { headers: { authorization: "Bearer " + process.env.OPENAI_API_KEY } }).then(({ status, url }) => console.log(status, url))';
    const { stdout, stderr } = await place.runAlone(['run', '--max-usd', '1', '--', process.execPath, '-e', call]);
    assert.equal(stdout, `200 https://127.0.0.1:${port}/v1/models\n`, stderr);
  });

  test('serve on in a process that takes over, which may also leave TLS', async (t) => {
    const place = prepare(t);
    const first = await place.serve();
    const open = await RawConnection.open(Number(new URL(first.url).port), ANY);
    await probe(open);
    place.write('gateway.crt', pem('wrong-name.crt'));
    const next = await place.serve([PROGRAM, 'serve', '--takeover']);
    assert.equal(next.url, first.url);
    assert.equal(await shownBy(next), 'elsewhere');
    await probe(open);
    assert.equal((await first.ended).status, 0);
    place.write('config.yaml', CONFIG);
    const last = await place.serve([PROGRAM, 'serve', '--takeover']);
    assert.equal((await fetch(`${first.url}/readyz`)).status, 200);
    assert.equal((await next.ended).status, 0);
    assert.equal(await last.stop(), 0);
  });
});
