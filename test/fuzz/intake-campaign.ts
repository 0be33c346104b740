/**
 * Several requests in one write, mutated: what Node's server reads behind an intake is compared with what it reads on its own.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { Intake } from '../../src/http/intake.ts';
import { Random } from '../support/random.ts';
import { type Campaign, type CaseResult, seedOf } from './campaign.ts';
import { readAnswers } from './http.ts';
import { drawWrite, inWholeLines } from './writes.ts';

/** Small, so that some heads are larger. */
const MAX_HEADER_BYTES = 2_000;
/** A case is over when this many turns of the event loop have brought nothing. */
const QUIET_TURNS = 12;

/** One connection of a server. */
interface Connection {
  readonly socket: Duplex;
  readonly intake: Intake | undefined;
  readonly requests: { readonly head: unknown; body: string; readonly message: IncomingMessage | undefined }[];
  readonly received: Buffer[];
  fault: string | undefined;
  news: number;
  /** The server has destroyed it. */
  isCut: boolean;
}

/** Node's server, with an intake before each connection or without. It answers each request once it has arrived. */
class ReadingServer {
  readonly #server: Server;
  readonly #hasIntake: boolean;
  readonly #connections = new WeakMap<Duplex, Connection>();

  constructor(hasIntake: boolean) {
    this.#hasIntake = hasIntake;
    this.#server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requireHostHeader: false, requestTimeout: 0 });
    this.#server.maxHeadersCount = 0;
    for (const event of ['request', 'checkExpectation']) {
      this.#server.on(event, (request, response) => this.#onRequest(request, response));
    }
    this.#server.on('checkContinue', (request, response) => {
      // Without it Node's answer would be the last.
      response.writeContinue();
      this.#onRequest(request, response);
    });
    this.#server.on('connect', (request: IncomingMessage, socket: Duplex) => {
      const connection = this.#connectionOf(socket);
      connection.intake?.stop();
      connection.requests.push({ head: headOf(request), body: '', message: undefined });
    });
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      const connection = this.#connectionOf(socket);
      connection.intake?.stop();
      // What follows a last request is not read behind an intake, which is told that it was the last.
      if (error.code !== 'HPE_CLOSED_CONNECTION') connection.fault ??= error.code;
    });
  }

  /** Sends these pieces over a connection of their own. */
  async read(pieces: readonly Buffer[]): Promise<Connection> {
    const [client, socket] = duplexPair();
    const connection: Connection = { socket, ...NEW, requests: [], received: [], intake: this.#accept(socket) };
    this.#connections.set(socket, connection);
    client.on('error', () => {});
    client.on('data', (bytes: Buffer) => {
      connection.news++;
      connection.received.push(bytes);
    });
    for (const piece of pieces) {
      client.write(piece);
      await turn();
    }
    for (let [quiet, seen] = [0, -1]; quiet < QUIET_TURNS; quiet = seen === connection.news ? quiet + 1 : 0) {
      seen = connection.news;
      await turn();
    }
    connection.isCut = socket.destroyed;
    socket.destroy();
    client.destroy();
    return connection;
  }

  #accept(socket: Duplex): Intake | undefined {
    this.#server.emit('connection', socket);
    return this.#hasIntake ? new Intake(socket as Socket) : undefined;
  }

  #connectionOf(socket: Duplex): Connection {
    return this.#connections.get(socket) as Connection;
  }

  #onRequest(message: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connectionOf(message.socket);
    const request = { head: headOf(message), body: '', message };
    connection.requests.push(request);
    connection.news++;
    if (connection.intake?.begin(message) === false) connection.fault = 'too many';
    response.once('close', () => connection.intake?.answered());
    message.on('error', () => {});
    message.on('data', (bytes: Buffer) => {
      request.body += bytes.toString('latin1');
    });
    message.on('end', () => {
      connection.news++;
      response.writeHead(200, { 'Content-Length': '2' });
      response.end('ok');
    });
  }
}

const NEW = { fault: undefined, news: 0, isCut: false };

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): unknown {
  return { method, url, httpVersion, rawHeaders };
}

/** What a server has read: a text for each request, and one for how it ended. */
function readingOf({ requests, fault, isCut }: Connection): string[] {
  const texts = requests.map(({ head, body, message }) =>
    JSON.stringify([head, body, message?.complete, message?.rawTrailers]),
  );
  return [...texts, `${fault} ${isCut}`];
}

/**
 * Whether the end of what is read depends on where reads end, with Node as well: it counts the bytes of a head by them, and
 * drops what has come with a request for another protocol.
 */
function dependsOnCuts(sent: Buffer, connections: readonly Connection[]): boolean {
  if (connections.some(({ fault }) => fault === 'HPE_HEADER_OVERFLOW')) return true;
  return /\r\nupgrade:|PRI /i.test(sent.toString('latin1'));
}

export class IntakeCampaign implements Campaign {
  readonly name = 'intakes';
  readonly problems: readonly string[] = [];
  readonly #seed: number;
  readonly #alone = new ReadingServer(false);
  readonly #behind = new ReadingServer(true);

  constructor(seed: number) {
    this.#seed = seed;
  }

  begin(): void {}

  async run(number: number): Promise<CaseResult> {
    const random = new Random(seedOf(this.#seed, number));
    // Where a head is too large depends on the cuts: Node counts what it has by then.
    const { sent, pieces } = drawWrite(random);
    const { difference, behind } = await inWholeLines(pieces, (all) => this.#compare(sent, all));
    const received = Buffer.concat(behind.received);
    const { answers, problem } = readAnswers(received, { mayLackBodies: true, isClosed: true });
    return { answers, problems: [problem, difference].filter((each) => each !== undefined), sent, received };
  }

  async #compare(
    sent: Buffer,
    pieces: readonly Buffer[],
  ): Promise<{ difference: string | undefined; behind: Connection }> {
    const [alone, behind] = await Promise.all([this.#alone.read(pieces), this.#behind.read(pieces)]);
    const readings = [readingOf(alone), readingOf(behind)] as const;
    const compared = dependsOnCuts(sent, [alone, behind])
      ? Math.min(...readings.map(({ length }) => length)) - 2
      : Infinity;
    const [expected, actual] = readings.map((reading) => reading.slice(0, Math.max(0, compared)).join('\n'));
    return { difference: expected === actual ? undefined : `read ${actual} instead of ${expected}`, behind };
  }
}
