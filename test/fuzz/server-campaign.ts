/**
 * Mutated client bytes, sent to the program's HTTP server and to a plain server of `node:http`. Both must hand on the same
 * requests, answer them with the same bytes, refuse the same bytes, and leave the connection in the same state.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Server as Acceptor, Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { MAX_WAITING_BYTES } from '../../src/http/backlog.ts';
import { LlhttpServer } from '../../src/http/llhttp-server.ts';
import { MAX_HEADER_BYTES } from '../../src/http/malformed.ts';
import type { Expectation, HttpRequest, HttpResponse } from '../../src/http/server.ts';
import { Random } from '../support/random.ts';
import { type Campaign, type CaseResult, seedOf } from './campaign.ts';
import { readAnswers } from './http.ts';
import { drawWrite } from './writes.ts';

/** Share of clients that end their half of the connection after their last byte. */
const ENDING_SHARE = 0.15;
/** A connection is quiet after this many turns of the event loop without news. Concurrent cases share the turns. */
const QUIET_TURNS = 40;
const NO_TIME_MS = 2 ** 30;
const KEEP_ALIVE_MS = 75_000;

/** The result of one connection. */
export interface Reading {
  /** Each request as it was handed on, with its body, and the code of the fault that ended the connection. */
  readonly requests: string[];
  /** The responses without dates. */
  answered: string;
  received: Buffer;
  /** The final state of the connection. */
  end: string;
}

interface Connection {
  readonly requests: string[];
  news: number;
}

/** Adds the methods of a socket that servers call. */
function socketOf(duplex: Duplex): Socket {
  const destroySoon = () => {
    if (duplex.writable) duplex.end();
    if (duplex.writableFinished) duplex.destroy();
    else duplex.once('finish', () => duplex.destroy());
  };
  const setTimeout = () => duplex;
  return Object.assign(duplex, { destroySoon, setTimeout, bytesRead: 0, timeout: 0 }) as unknown as Socket;
}

/** A server that is reached through memory alone. */
abstract class ReadingServer {
  readonly #connections = new WeakMap<Socket, Connection>();

  protected abstract readonly acceptor: Acceptor;

  /** Sends these pieces over a connection of their own. `ends`: the client then ends its half. */
  async read(pieces: readonly Buffer[], ends: boolean): Promise<Reading> {
    const [client, duplex] = duplexPair();
    const socket = socketOf(duplex);
    const connection: Connection = { requests: [], news: 0 };
    this.#connections.set(socket, connection);
    const received: Buffer[] = [];
    let hasEnded = false;
    client.on('error', () => {});
    client.on('data', (bytes: Buffer) => {
      connection.news++;
      received.push(bytes);
    });
    client.on('end', () => {
      hasEnded = true;
    });
    this.acceptor.emit('connection', socket);
    for (const piece of pieces) {
      client.write(piece);
      await turn();
    }
    await quietOn(connection);
    if (ends) {
      client.end();
      await quietOn(connection);
    }
    // A connection that lingers after its last answer is over, too.
    const end = socket.destroyed || hasEnded ? 'over' : `open, ${duplex.writableLength}`;
    client.destroy();
    socket.destroy();
    await turn();
    const bytes = Buffer.concat(received);
    return { requests: connection.requests, received: bytes, answered: answeredIn(bytes), end };
  }

  protected connectionOf(socket: Socket): Connection {
    return this.#connections.get(socket) as Connection;
  }

  /** Notes the code of a fault, or a CONNECT, and closes the connection. */
  protected end(socket: Socket, why: string): void {
    if (!socket.writable) return;
    this.connectionOf(socket).requests.push(why);
    socket.destroySoon();
  }

  /** Answers in one of several manners, which the request decides: at once, after the body, late, or in parts. */
  protected async answer(request: HttpRequest, response: HttpResponse, expectation: Expectation): Promise<void> {
    const connection = this.connectionOf(request.socket);
    const { method, url, httpVersion, rawHeaders, headers } = request;
    // Node's object of headers has a prototype, and takes this name for that.
    const named = Object.entries(headers).filter(([name]) => name !== '__proto__');
    const sorted = named.toSorted(([a], [b]) => (a < b ? -1 : 1));
    const head = JSON.stringify([method, url, httpVersion, rawHeaders, sorted, expectation]);
    const place = connection.requests.push(head) - 1;
    response.on('close', () => {
      connection.news++;
    });
    const manner = rawHeaders.length % 5;
    if (manner === 0) return send(response, 401, 'no');
    if (expectation === 'continue' && manner !== 1) response.writeContinue();
    connection.requests[place] = `${head} ${await bodyOf(request)}`;
    if (response.destroyed) return;
    if (manner === 1) return send(response, 200, 'é'.repeat(10));
    if (manner === 2) return send(response, 200, 'x'.repeat(40_000));
    await turn();
    if (manner === 3) return send(response, 204, '');
    response.writeHead(200, ['Content-Type', 'text/event-stream']);
    for (const bytes of [Buffer.from('data: 1\n\n'), Buffer.alloc(20_000, 'y')]) {
      response.write(bytes);
      await turn();
    }
    response.end('data: [DONE]\n\n');
  }
}

function send(response: HttpResponse, status: number, body: string): void {
  response.writeHead(status, ['Content-Type', 'text/plain', 'Content-Length', String(Buffer.byteLength(body))]);
  response.end(body);
}

/** The whole body, or a note that it did not arrive. */
function bodyOf(request: HttpRequest): Promise<string> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => resolve(`body ${Buffer.concat(parts).toString('latin1')}`));
    request.on('close', () => resolve('no body'));
    request.on('error', () => {});
    request.resume();
  });
}

/** The server of the program. */
export class OwnServer extends ReadingServer {
  protected readonly acceptor: Acceptor;

  constructor() {
    super();
    const server = new LlhttpServer(
      { headMs: NO_TIME_MS, keepAliveMs: KEEP_ALIVE_MS, certificate: undefined },
      {
        onConnection: () => {},
        onSecured: () => {},
        onRequest: (request, response, expectation) => void this.answer(request, response, expectation),
        onConnect: (socket) => this.end(socket, 'CONNECT'),
        onClientError: (error, socket) => {
          server.stop(socket);
          this.end(socket, String(error.code));
        },
        onTimeout: () => {},
      },
    );
    this.acceptor = server.acceptor;
  }
}

interface Step {
  run(): void;
  /** The request to be answered; undefined for a fault or a CONNECT, which ends the connection. */
  readonly request: IncomingMessage | undefined;
  hasBegun: boolean;
}

/**
 * The oracle. Node parses a read to its end, and so hands on several requests at a time: each connection has a queue, whose next
 * step waits for the response before it.
 */
export class NodeServer extends ReadingServer {
  protected readonly acceptor: Acceptor;
  readonly #queues = new WeakMap<Socket, Step[]>();

  constructor() {
    super();
    const settings = {
      maxHeaderSize: MAX_HEADER_BYTES,
      requireHostHeader: false,
      requestTimeout: 0,
      headersTimeout: 0,
    };
    const server = createServer({ ...settings, keepAliveTimeout: KEEP_ALIVE_MS });
    server.maxHeadersCount = 0;
    server.on('request', (request, response) => this.#onRequest(request, response, 'nothing'));
    server.on('checkContinue', (request, response) => this.#onRequest(request, response, 'continue'));
    server.on('checkExpectation', (request, response) => this.#onRequest(request, response, 'unknown'));
    server.on('connect', (_, socket) => this.#endAfterAnswers(socket as Socket, 'CONNECT'));
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      // What follows a last request is not parsed by the other server.
      if (error.code !== 'HPE_CLOSED_CONNECTION') this.#endAfterAnswers(socket as Socket, String(error.code));
    });
    this.acceptor = server;
  }

  #onRequest(request: IncomingMessage, response: ServerResponse, expectation: Expectation): void {
    const { socket } = request;
    response.once('close', () => {
      this.#queues.get(socket)?.shift();
      this.#advance(socket);
    });
    this.#enqueue(socket, request, () => void this.answer(request, response, expectation));
  }

  #endAfterAnswers(socket: Socket, why: string): void {
    this.#enqueue(socket, undefined, () => this.end(socket, why));
  }

  #enqueue(socket: Socket, request: IncomingMessage | undefined, run: () => void): void {
    const queue = this.#queues.get(socket) ?? [];
    this.#queues.set(socket, queue);
    queue.push({ run, request, hasBegun: false });
    this.#advance(socket);
  }

  #advance(socket: Socket): void {
    const [first, second] = this.#queues.get(socket) ?? [];
    if (first === undefined || !socket.writable) return;
    if (!first.hasBegun) {
      first.hasBegun = true;
      first.run();
    }
    // The rest of the body does not come. A last response that is out already closes the connection before that turn.
    if (first.request?.complete === false && second?.request === undefined) setImmediate(() => second?.run());
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

async function quietOn(connection: Connection): Promise<void> {
  for (let [quiet, seen] = [0, -1]; quiet < QUIET_TURNS; quiet = seen === connection.news ? quiet + 1 : 0) {
    seen = connection.news;
    await turn();
  }
}

const NEW_EACH_TIME = /(?<=\r\nDate: )[^\r]+/g;

/** Where a body in chunks is cut is no part of it. */
function answeredIn(received: Buffer): string {
  const { answers, rest, problem } = readAnswers(received, { mayLackBodies: true, isClosed: true });
  const texts = answers.map(({ head, body }) => `${head}\r\n\r\n${body.toString('latin1')}`);
  return [...texts, `${problem} ${rest.toString('latin1')}`].join('\r\n').replace(NEW_EACH_TIME, '');
}

/**
 * What the two builds of llhttp read differently, by what has to be in the bytes: undici's is some months older than Node's. The
 * reasons why that does no harm are in docs/decisions.md.
 */
const OLDER_BUILD: readonly RegExp[] = [
  /transfer-encoding:[ \t]*(?:\r|\n)/i,
  /content-length:[^\r\n]*\t/i,
  /connection:[^\r\n]*\t/i,
  /\n0{17}/,
];
/** Node's server drops the bytes that arrive in one read with a request for an upgrade. */
const UPGRADE = /\nconnection:[^\r\n]*\bupgrade\b/i;
const NO_REST = 'undefined ';

/** Whether Node's server has read less than the other, behind a request for an upgrade. */
function hasDropped(text: string, own: Reading, nodes: Reading): boolean {
  const isPart = own.requests.join('\n').startsWith(nodes.requests.join('\n'));
  return UPGRADE.test(text) && isPart && own.answered.startsWith(nodes.answered.slice(0, -NO_REST.length));
}

/** The difference between two readings of the same bytes, except for those that docs/decisions.md gives a reason for. */
export function differenceOf(sent: Buffer, own: Reading, nodes: Reading): string | undefined {
  const text = sent.toString('latin1');
  if (OLDER_BUILD.some((pattern) => pattern.test(text)) || hasDropped(text, own, nodes)) return undefined;
  for (const [name, a, b] of [
    ['handed on', own.requests.join('\n'), nodes.requests.join('\n')],
    ['answered', own.answered, nodes.answered],
    ['the connection is', own.end, nodes.end],
  ] as const) {
    if (a !== b) return `${name} ${a}\n  with Node's server ${b}`;
  }
  return undefined;
}

export class ServerCampaign implements Campaign {
  readonly name = 'servers';
  readonly problems: readonly string[] = [];
  readonly #seed: number;
  readonly #own = new OwnServer();
  readonly #nodes = new NodeServer();

  constructor(seed: number) {
    this.#seed = seed;
  }

  begin(): void {}

  async run(number: number): Promise<CaseResult> {
    const random = new Random(seedOf(this.#seed, number));
    const { sent, pieces } = drawWrite(random);
    // While much waits, the end is noticed sooner or later.
    const ends = random.chance(ENDING_SHARE) && sent.length < MAX_WAITING_BYTES;
    const [own, nodes] = await Promise.all([this.#own.read(pieces, ends), this.#nodes.read(pieces, ends)]);
    const difference = differenceOf(sent, own, nodes);
    const { answers } = readAnswers(own.received, { mayLackBodies: true, isClosed: true });
    return { answers, problems: difference === undefined ? [] : [difference], sent, received: own.received };
  }
}
