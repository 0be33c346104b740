/** The least that a proxy on node:http and undici can do: undici's `dispatch`, with handlers instead of streams. */
import { createServer } from 'node:http';
import { Pool } from 'undici';

const [port = '', upstreamPort = ''] = process.argv.slice(2);

// The same settings as the gateway's own.
const pool = new Pool(`http://127.0.0.1:${upstreamPort}`, {
  pipelining: 1,
  allowH2: false,
  connect: { timeout: 10_000 },
  keepAliveTimeout: 30_000,
  headersTimeout: 0,
  bodyTimeout: 0,
});

/** Hands an answer on, piece by piece, at the pace of its reader. */
class Forwarder {
  #response;

  constructor(response) {
    this.#response = response;
  }

  onRequestStart(controller) {
    this.#response.once('close', () => {
      if (!this.#response.writableFinished) controller.abort(new Error('the client left'));
    });
  }

  onResponseStart(_, status, headers) {
    const { connection, 'keep-alive': keepAlive, 'transfer-encoding': coding, ...endToEnd } = headers;
    this.#response.writeHead(status, endToEnd);
  }

  onResponseData(controller, chunk) {
    if (this.#response.write(chunk)) return;
    controller.pause();
    this.#response.once('drain', () => controller.resume());
  }

  onResponseEnd() {
    this.#response.end();
  }

  onResponseError() {
    this.#response.destroy();
  }
}

const server = createServer({ noDelay: true, keepAliveTimeout: 75_000 }, (request, response) => {
  const { host, connection, ...headers } = request.headers;
  pool.dispatch({ method: request.method, path: request.url, headers, body: request }, new Forwarder(response));
});
server.listen(Number(port), '127.0.0.1');
