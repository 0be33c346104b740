/**
 * What listens at the address of a provider: a host that responds, or one that no request ever
 * reaches.
 */
import { readFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Certificate, FakeUpstream } from '../support/fake-upstream.ts';
import { freePort } from '../support/ports.ts';
import type { HostKind } from './cell.ts';

export interface Host {
  readonly baseUrl: string;
  /** Undefined if no request can arrive. */
  readonly upstream?: FakeUpstream;
  /** Open connections. */
  connections(): number;
  close(): Promise<void>;
}

const CERTIFICATES = join(import.meta.dirname, 'certificates');
const pem = (file: string) => readFileSync(join(CERTIFICATES, file), 'utf8');
/** The authority that a gateway must trust in order to trust its hosts. */
export const AUTHORITY_PATH = join(CERTIFICATES, 'authority.crt');

function certificate(file: string): Certificate {
  return { cert: pem(file), key: pem('host.key') };
}

export function openHost(kind: HostKind): Promise<Host> {
  switch (kind) {
    case 'plain':
      return answering('http');
    case 'tls':
      return answering('https', certificate('valid.crt'));
    case 'expired certificate':
      return answering('https', certificate('expired.crt'));
    case 'certificate of another host':
      return answering('https', certificate('wrong-name.crt'));
    case 'certificate of an unknown authority':
      return answering('https', certificate('unknown.crt'));
    case 'garbage in the handshake':
      return shaking((socket) => socket.write('220 mail.example ESMTP\r\n'));
    case 'silence in the handshake':
      return shaking(() => {});
    case 'end in the handshake':
      return shaking((socket) => socket.end());
    case 'closed port':
      return closedPort();
    case 'blackhole':
      return blackhole();
    case 'unknown name':
      return Promise.resolve({ baseUrl: 'http://nowhere.invalid/v1', connections: () => 0, close: async () => {} });
  }
}

async function answering(scheme: string, tls?: Certificate): Promise<Host> {
  const upstream = await FakeUpstream.start(tls);
  return {
    baseUrl: `${scheme}://127.0.0.1:${upstream.port}/v1`,
    upstream,
    connections: () => upstream.connections,
    close: () => upstream.close(),
  };
}

/** Does this to every TLS handshake. */
async function shaking(answer: (socket: Socket) => void): Promise<Host> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    socket.once('data', () => answer(socket));
  });
  const port = await listening(server);
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await closed(server);
  };
  return { baseUrl: `https://127.0.0.1:${port}/v1`, connections: () => sockets.size, close };
}

/** Not a port that was closed just now: the system may give that to another host. */
async function closedPort(): Promise<Host> {
  const port = await freePort();
  return { baseUrl: `http://127.0.0.1:${port}/v1`, connections: () => 0, close: async () => {} };
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** A thread that listens and never accepts a connection: it is blocked forever. */
const DEAF = `
const { createServer } = require('node:net');
const { parentPort } = require('node:worker_threads');
const server = createServer();
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  parentPort.postMessage(server.address().port);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
`;
/** More than the accept queue holds. */
const MOST_WAITING = 16;
const SETTLED_MS = 150;

/** With a full accept queue, the system does not answer further connection attempts. */
async function blackhole(): Promise<Host> {
  const worker = new Worker(DEAF, { eval: true });
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  const waiting: Socket[] = [];
  let taken = true;
  while (taken && waiting.length < MOST_WAITING) {
    const socket = connect(port, '127.0.0.1');
    waiting.push(socket);
    taken = await new Promise<boolean>((resolve) => {
      // If this process was delayed, an accepted connection is seen before the next tick.
      const timer = setTimeout(() => setImmediate(() => resolve(false)), SETTLED_MS);
      socket
        .on('error', () => {})
        .once('connect', () => {
          clearTimeout(timer);
          resolve(true);
        });
    });
  }
  if (taken) throw new Error('this system has no end of connections that wait');
  const close = async () => {
    for (const socket of waiting) socket.destroy();
    await worker.terminate();
  };
  return { baseUrl: `http://127.0.0.1:${port}/v1`, connections: () => 0, close };
}
