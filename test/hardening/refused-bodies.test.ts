/** Bodies of refused requests: the gateway reads little of them, serves others in between, and delivers its response. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { MAX_DISCARDED_BYTES, READ_BYTES } from '../../src/http/linger.ts';
import { HttpParser } from '../../src/http/llhttp.ts';
import { TLS, TRUSTING } from '../support/certificates.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';
import { bounded } from '../support/wait.ts';
import { CHUNKED, FLOODS, type Flood, pieceOf, post, UNKNOWN_KEY } from './floods.ts';

/** The maximum read before the response is sent: one read of the socket, and one more until it is paused. */
const BEFORE_ANSWER_BYTES = 2 * READ_BYTES;

/** The sockets that a server of this process accepts on a port. */
function acceptedOn(t: TestContext, port: () => number): Socket[] {
  const sockets: Socket[] = [];
  const onSocket = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    if (socket.localPort === port()) sockets.push(socket);
  };
  subscribe('net.server.socket', onSocket);
  t.after(() => unsubscribe('net.server.socket', onSocket));
  return sockets;
}

async function started(t: TestContext, config = {}): Promise<TestGateway> {
  const gateway = await startTestGateway({ config });
  t.after(() => gateway.stop());
  return gateway;
}

/** Sends a flood until the gateway closes the connection. Resolves with the received bytes. */
async function pour(socket: Socket, flood: Flood): Promise<string> {
  let received = '';
  const piece = pieceOf(flood, READ_BYTES);
  const send = (): void => {
    if (socket.writable) socket.write(piece, () => setImmediate(send));
  };
  socket.on('data', (data) => {
    received += data.toString('latin1');
  });
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write(flood.head);
  send();
  await bounded(closed, 'the connection is closed');
  return received;
}

function assertLittleRead(accepted: readonly Socket[]): void {
  const [{ bytesRead } = assert.fail('nothing was accepted')] = accepted;
  assert.ok(bytesRead <= BEFORE_ANSWER_BYTES + MAX_DISCARDED_BYTES, `${bytesRead} bytes were read`);
}

function portOf(gateway: TestGateway, where: Flood['where']): number {
  if (where === 'clients') return gateway.port;
  return Number(new URL(where === 'health' ? gateway.healthUrl : gateway.metricsUrl).port);
}

/** Requests without bodies keep their connection until too many wait. */
const BODIES = FLOODS.filter(({ head, reconnects }) => head !== '' && !reconnects);

describe('a peer without a key that goes on sending', { concurrency: true }, () => {
  for (const flood of BODIES) {
    const { name, where, status } = flood;
    const answer = new RegExp(`^HTTP/1.1 ${status} .*Connection: close\r\n.*\r\n.+$`, 's');

    test(`${name} gets its answer, 256 KB are read at most, and the connection closes`, async (t) => {
      const gateway = await started(t, where === 'clients' ? {} : { [where]: '127.0.0.1:0' });
      const port = portOf(gateway, where);
      const accepted = acceptedOn(t, () => port);
      // With half-open connections allowed it continues after the gateway has ended its half.
      const received = await pour(connect({ port, host: '127.0.0.1', allowHalfOpen: true }), flood);
      assert.match(received, answer);
      assert.equal(received.split('HTTP/1.1').length, 2);
      assertLittleRead(accepted);
    });

    if (where !== 'clients') continue;
    test(`${name} over TLS gets its answer, and the connection closes`, async (t) => {
      const gateway = await started(t, { tls: TLS });
      const socket = connectTls({ port: gateway.port, host: '127.0.0.1', ...TRUSTING });
      assert.match(await pour(socket, flood), answer);
    });
  }
});

describe('a client that sends all of its body before it reads', () => {
  const body = 'x'.repeat(190 * 1024);
  const chunks = `${'400\r\n'}${'y'.repeat(1_024)}\r\n`.repeat(100);
  for (const [name, sent, isKept] of [
    ['of a declared length', post(`Content-Length: ${body.length}\r\n`) + body, true],
    ['in chunks', `${post(CHUNKED) + chunks}0\r\n\r\n`, false],
  ] as const) {
    for (const secure of [undefined, TRUSTING]) {
      test(`${name} gets its answer, and no reset${secure ? ', over TLS' : ''}`, async (t) => {
        const gateway = await started(t, secure && { tls: TLS });
        const address = { port: gateway.port, host: '127.0.0.1', allowHalfOpen: true };
        const socket = secure === undefined ? connect(address) : connectTls({ ...address, ...secure });
        await once(socket, secure === undefined ? 'connect' : 'secureConnect');
        const errors: Error[] = [];
        socket.on('error', (error) => errors.push(error));
        socket.pause();
        await new Promise((resolve) => socket.write(sent, resolve));
        let received = '';
        socket.on('data', (data) => {
          received += data.toString('latin1');
          if (isKept) socket.end();
        });
        socket.resume();
        await bounded(once(socket, 'end'), 'the gateway ends the connection');
        socket.end();
        await bounded(once(socket, 'close'), 'the connection is closed');
        assert.match(received, new RegExp(`^HTTP/1.1 401 .*Connection: ${isKept ? 'keep-alive' : 'close'}\r\n`, 's'));
        assert.deepEqual(errors, []);
      });
    }
  }
});

test('a connection stays after a refusal with a short body, and its next request is served', async (t) => {
  const gateway = await started(t);
  const body = 'x'.repeat(MAX_DISCARDED_BYTES);
  const connection = await RawConnection.open(gateway.port);
  for (let n = 0; n < 3; n++) {
    connection.send(post(`Content-Length: ${body.length}\r\n`) + body);
    assert.equal((await connection.answer()).status, 401);
  }
  connection.leave();
});

test('no chunk of a refused request is parsed', async (t) => {
  const { mock } = t.mock.method(HttpParser.prototype, 'onBody');
  const gateway = await started(t);
  const sent = post(UNKNOWN_KEY + CHUNKED) + '1\r\nx\r\n'.repeat(10_000);
  assert.match(await (await gateway.sending(sent)).rest(), /^HTTP\/1\.1 401 /);
  assert.equal(mock.callCount(), 0);
  const key = gateway.key();
  const [head = ''] = gateway.rawCompletion(key, '').split('Content-Length');
  const read = await gateway.sending(`${head}${CHUNKED}\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n`);
  assert.equal((await read.answer()).status, 400);
  assert.equal(mock.callCount(), 2);
  read.leave();
});

test('others have their turn after each read of a socket', async (t) => {
  const gateway = await started(t);
  const accepted = acceptedOn(t, () => gateway.port);
  let turn = 0;
  const count = setInterval(() => {}, 1_000);
  const next = () => {
    turn++;
    counting = setImmediate(next);
  };
  let counting = setImmediate(next);
  t.after(() => {
    clearImmediate(counting);
    clearInterval(count);
  });
  const socket = connect(gateway.port, '127.0.0.1');
  await once(socket, 'connect');
  const length = 8 * 1024 * 1024;
  // A request with a valid key, whose body is read completely.
  socket.write(post(`Authorization: Bearer ${gateway.key().secret}\r\nContent-Length: ${length}\r\n`));
  socket.write(Buffer.alloc(length, 'x'));
  const perTurn = new Map<number, number>();
  while (accepted.length === 0) await new Promise(setImmediate);
  accepted[0]?.on('data', (bytes) => perTurn.set(turn, (perTurn.get(turn) ?? 0) + bytes.length));
  const [answer] = (await bounded(once(socket, 'data'), 'the answer')) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 400 /);
  socket.destroy();
  const most = Math.max(...perTurn.values());
  assert.ok(most <= 2 * READ_BYTES, `${most} bytes were read in one turn`);
});
