/** Responses on one connection that others use after them: nothing of one may get into the next. */
import assert from 'node:assert/strict';
import { type AddressInfo, connect } from 'node:net';
import { describe, test } from 'node:test';
import { LlhttpServer } from '../../../src/http/llhttp-server.ts';
import type { HttpResponse } from '../../../src/http/server.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const LAST = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

/** What a client gets that sends these requests at once, with each answered like this. */
async function answersTo(requests: readonly string[], answer: (response: HttpResponse, nth: number) => void) {
  let nth = 0;
  const server = new LlhttpServer(
    { headMs: 60_000, keepAliveMs: 60_000, certificate: undefined },
    {
      onConnection: () => {},
      onSecured: () => {},
      onRequest: (_, response) => answer(response, nth++),
      onConnect: () => {},
      onClientError: (error) => assert.fail(error),
      onTimeout: () => {},
    },
  );
  await new Promise<void>((resolve) => {
    server.acceptor.listen(0, '127.0.0.1', resolve);
  });
  const client = connect((server.acceptor.address() as AddressInfo).port, '127.0.0.1');
  client.write(requests.join(''));
  let received = '';
  for await (const bytes of client) received += bytes;
  server.close();
  return received.replaceAll(/\r\nDate: [^\r]+/g, '');
}

const KEPT = 'Connection: keep-alive\r\nKeep-Alive: timeout=60\r\n';
const one = `HTTP/1.1 200 OK\r\nContent-Length: 3\r\n${KEPT}\r\none`;
const two = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\ntwo';

describe('on a connection that is kept', () => {
  test('a second head is refused, as by Node', async () => {
    const refused: unknown[] = [];
    const received = await answersTo([GET, LAST], (response, nth) => {
      response.writeHead(200, ['Content-Length', '3']);
      try {
        response.writeHead(503, ['Content-Length', '0']);
      } catch (error) {
        refused.push(error);
      }
      response.end(nth === 0 ? 'one' : 'two');
    });
    assert.equal(received, one + two);
    assert.equal(refused.length, 2);
  });

  test('nothing is written of a response that has ended, nor is the connection destroyed for it', async () => {
    let first: HttpResponse | undefined;
    const received = await answersTo([GET, LAST], (response, nth) => {
      first?.write(Buffer.from('late'));
      first?.end('late');
      first?.destroy();
      response.writeHead(200, ['Content-Length', '3']);
      response.end(nth === 0 ? 'one' : 'two');
      response.write(Buffer.from('late'));
      first = response;
    });
    assert.equal(received, one + two);
  });

  test('a status without a name of its own has a reason all the same', async () => {
    const received = await answersTo([LAST], (response) => {
      response.writeHead(529, ['Content-Length', '0']);
      response.end('');
    });
    assert.match(received, /^HTTP\/1\.1 529 unknown\r\n/);
  });
});
