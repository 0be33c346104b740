/**
 * The cheapest proxy possible on node:http and undici: `dispatch` with handlers instead of streams.
 */
import { createServer } from 'node:http';
import { poolTo } from './pool.js';

const [port = '', upstreamPort = ''] = process.argv.slice(2);

const pool = poolTo(upstreamPort);

/** Forwards an answer chunk by chunk, with backpressure. */
class Forwarder {
  #response;

  constructor(response) {
    this.#response = response;
  }

  onRequestStart(controller) {
    this.#response.once('close', () => {
      if (!this.#response.writableFinished) controller.abort(new Error('the client hung up'));
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
