/** Floods by peers without a valid key: the head of a request, then an endless repetition. */
import { mintKey } from '../../src/core/api-key.ts';

export interface Flood {
  readonly name: string;
  /** The listener that it is sent to. */
  readonly where: 'clients' | 'health' | 'metrics';
  /** The status of the answer. */
  readonly status: number;
  readonly head: string;
  readonly unit: string;
  /** Each connection is closed when its answer arrives, and opened again. */
  readonly reconnects?: true;
}

const FILLER = 'x'.repeat(64 * 1024);
export const UNKNOWN_KEY = `x-api-key: ${mintKey()}\r\n`;
const ENDLESS = 'Content-Length: 100000000000\r\n';
export const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const TINY = '1\r\nx\r\n';

/** The head of a request with a body. */
export const post = (headers: string, path = '/v1/chat/completions') =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;
const get = (headers: string, path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;

const STEADY: readonly Flood[] = [
  { name: 'a body without a key', where: 'clients', status: 401, head: post(ENDLESS), unit: FILLER },
  {
    name: 'a body with an unknown key',
    where: 'clients',
    status: 401,
    head: post(UNKNOWN_KEY + ENDLESS),
    unit: FILLER,
  },
  { name: 'a body in chunks', where: 'clients', status: 401, head: post(CHUNKED), unit: `10000\r\n${FILLER}\r\n` },
  { name: 'a body in chunks of one byte', where: 'clients', status: 401, head: post(CHUNKED), unit: TINY },
  {
    name: 'a body in chunks of one byte with an unknown key',
    ...{ where: 'clients', status: 401, head: post(UNKNOWN_KEY + CHUNKED), unit: TINY },
  },
  { name: 'a body at an unknown path', where: 'clients', status: 404, head: post(ENDLESS, '/nothing'), unit: FILLER },
  { name: 'a body behind two hosts', where: 'clients', status: 400, head: post(`Host: b\r\n${ENDLESS}`), unit: FILLER },
  { name: 'no HTTP', where: 'clients', status: 400, head: 'nonsense\r\n\r\n', unit: FILLER },
  {
    name: 'a header without an end',
    where: 'clients',
    status: 431,
    head: `${get('', '/').slice(0, -2)}X: `,
    unit: FILLER,
  },
  { name: 'requests one behind the other', where: 'clients', status: 401, head: '', unit: get('', '/v1/models') },
  { name: 'a body for health checks', where: 'health', status: 200, head: get(ENDLESS, '/healthz'), unit: FILLER },
  { name: 'chunks for health checks', where: 'health', status: 200, head: get(CHUNKED, '/healthz'), unit: TINY },
  { name: 'a body for metrics', where: 'metrics', status: 200, head: get(ENDLESS, '/metrics'), unit: FILLER },
  { name: 'chunks for metrics', where: 'metrics', status: 200, head: get(CHUNKED, '/metrics'), unit: TINY },
];

/** The floods whose connections the gateway closes after its answer, by peers that open the next one at once. */
const RECONNECTING: readonly Flood[] = STEADY.filter(({ where }) => where === 'clients').map((flood) => ({
  ...flood,
  name: `${flood.name}, again and again`,
  reconnects: true,
}));

export const FLOODS: readonly Flood[] = [...STEADY, ...RECONNECTING];

/** The repetition of a flood, at least this long. */
export function pieceOf({ unit }: Flood, bytes: number): Buffer {
  return Buffer.from(unit.repeat(Math.ceil(bytes / unit.length)));
}
