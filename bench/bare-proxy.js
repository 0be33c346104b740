/**
 * The baseline: a bare proxy on node:http and undici as most are written, with `request` and
 * `pipeline`.
 */
import { createServer } from 'node:http';
import { pipeline } from 'node:stream';
import { poolTo } from './pool.js';

const [port = '', upstreamPort = ''] = process.argv.slice(2);

const pool = poolTo(upstreamPort);

const server = createServer({ noDelay: true, keepAliveTimeout: 75_000 }, async (request, response) => {
  const { host, connection, ...headers } = request.headers;
  try {
    const answer = await pool.request({ method: request.method, path: request.url, headers, body: request });
    const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...endToEnd } = answer.headers;
    response.writeHead(answer.statusCode, endToEnd);
    pipeline(answer.body, response, () => {});
  } catch {
    response.destroy();
  }
});
server.listen(Number(port), '127.0.0.1');
