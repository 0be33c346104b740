/**
 * What clients send, mutated, to a listener on llhttp and to one on Node's server: both have to hand on the same requests, answer
 * them with the same bytes, and leave the connection in the same state.
 */
import { type Duplex, duplexPair } from 'node:stream';
import { errorBody } from '../../src/core/errors.ts';
import { MAX_WAITING_BYTES } from '../../src/http/backlog.ts';
import { BodyError } from '../../src/http/body.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { Listener } from '../../src/http/listener.ts';
import type { ServerKind } from '../../src/http/server.ts';
import { Random } from '../support/random.ts';
import { type Campaign, type CaseResult, seedOf } from './campaign.ts';
import { readAnswers } from './http.ts';
import { drawWrite, inWholeLines } from './writes.ts';

/** Of clients that send nothing more after what they have sent, and say so. */
const ENDING_SHARE = 0.15;
const MAX_BODY_BYTES = 60_000;
/** A case is over after this many turns of the event loop without news. Concurrent cases share the turns. */
const QUIET_TURNS = 40;
const NO_TIME_MS = 2 ** 30;
const ZERO = { limitRequests: 0, remainingRequests: 0, resetRequestsS: 0 };
const FIGURES = { ...ZERO, limitTokens: 0, remainingTokens: 0, resetTokensS: 0 };

/** What a listener has made of one connection. */
export interface Reading {
  /** Each request as it was handed on, with its body or why that could not be read. */
  readonly requests: string[];
  /** Without what differs each time: ids and dates. */
  answered: string;
  received: Buffer;
  /** What has become of the connection. */
  end: string;
}

interface Connection {
  readonly requests: string[];
  news: number;
}

/** A socket as listeners know it, and nothing of the network. */
function socketOf(duplex: Duplex): Duplex {
  const destroySoon = () => {
    if (duplex.writable) duplex.end();
    if (duplex.writableFinished) duplex.destroy();
    else duplex.once('finish', () => duplex.destroy());
  };
  const setTimeout = () => duplex;
  return Object.assign(duplex, { destroySoon, setTimeout, bytesRead: 0, timeout: 0 });
}

/** A listener that nobody can connect to but through memory. */
export class ReadingListener {
  readonly #listener: Listener;
  readonly #connections = new WeakMap<Duplex, Connection>();

  constructor(server: ServerKind) {
    const nobody = { host: '127.0.0.1', port: 0, isPortShared: false, descriptors: [], certificate: undefined };
    const limits = { connections: { max: 100_000, maxPerSource: undefined }, maxBodyBytes: MAX_BODY_BYTES };
    const overload = { loopDelayMs: undefined, memoryBytes: undefined, threads: 1 };
    const figures = { requests: FIGURES, listings: FIGURES };
    const format = { errorBody, streamFailure: errorBody };
    this.#listener = new Listener(
      {
        ...{ ...nobody, ...limits, overload, figures, server },
        ...{ requestMs: NO_TIME_MS, idleMs: NO_TIME_MS, cors: undefined, formatFor: () => format },
      },
      {
        onExchange: (_, exchange) => this.#answer(exchange),
        onMisrouted: async (error, exchange) => {
          this.#note(exchange);
          exchange.sendError(error);
        },
        onClose: (exchange) => {
          this.#connectionOf(exchange).news++;
        },
        onPressure: () => {},
      },
    );
  }

  /** Sends these pieces over a connection of their own. With `ends`, nothing follows. */
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
    this.#listener.sockets[0]?.emit('connection', socket);
    for (const piece of pieces) {
      client.write(piece);
      await turn();
    }
    if (ends) client.end();
    for (let [quiet, seen] = [0, -1]; quiet < QUIET_TURNS; quiet = seen === connection.news ? quiet + 1 : 0) {
      seen = connection.news;
      await turn();
    }
    // A connection that lingers after its last answer is over, too.
    const end = socket.destroyed || hasEnded ? 'over' : `open, ${duplex.writableLength}`;
    client.destroy();
    socket.destroy();
    await turn();
    const bytes = Buffer.concat(received);
    return { requests: connection.requests, received: bytes, answered: answeredIn(bytes), end };
  }

  get inFlight(): number {
    return this.#listener.inFlight;
  }

  #connectionOf({ request }: Exchange): Connection {
    return this.#connections.get(request.socket) as Connection;
  }

  /** The requests of a connection that have been handed on, and a place for what becomes of this one. */
  #note(exchange: Exchange): (what: string) => void {
    const { requests } = this.#connectionOf(exchange);
    const { method, url, httpVersion, rawHeaders, headers } = exchange.request;
    // Node's object of headers has a prototype, and takes this name for that.
    const named = Object.entries(headers).filter(([name]) => name !== '__proto__');
    const sorted = named.toSorted(([a], [b]) => (a < b ? -1 : 1));
    const head = JSON.stringify([method, url, httpVersion, rawHeaders, sorted]);
    const place = requests.push(head) - 1;
    return (what) => {
      requests[place] = `${head} ${what}`;
    };
  }

  /** In one of several manners, which the request decides: at once, with the body, late, in parts, or not at all. */
  async #answer(exchange: Exchange): Promise<void> {
    const note = this.#note(exchange);
    const manner = exchange.request.rawHeaders.length % 5;
    if (manner === 0) return exchange.sendError({ code: 'unauthorized', message: 'no' });
    try {
      // By then the body is there that came with the head, with either server.
      await undefined;
      const body = exchange.bufferedBody() ?? (await exchange.readBody(() => undefined));
      note(`body ${body.toString('latin1')}`);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      note(`no body: ${error.refusal?.reason}`);
      if (error.refusal !== undefined) exchange.sendError(error.refusal.error);
      return;
    }
    if (manner === 1) return exchange.sendJson(200, 'é'.repeat(10));
    if (manner === 2) return exchange.sendJson(200, Buffer.alloc(40_000, 'x'));
    await turn();
    if (manner === 3) return exchange.sendJson(200, '{}');
    exchange.startStream();
    for (const bytes of [Buffer.from('data: 1\n\n'), Buffer.alloc(20_000, 'y')]) {
      await exchange.writeStream(bytes);
      await turn();
    }
    exchange.endStream(undefined, Buffer.from('data: [DONE]\n\n'));
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const NEW_EACH_TIME = /req_\w+|(?<=\r\nDate: )[^\r]+/g;

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
/** Behind a request that asks for this Node's server is silent about what is malformed. */
const UPGRADE = /\nconnection:[^\r\n]*\bupgrade\b/i;
const NO_REST = 'undefined ';

/** Whether the two differ only in that a last fault, which is refused here, leaves Node's connection open and silent. */
function isSilence(text: string, own: Reading, nodes: Reading): boolean {
  if (!UPGRADE.test(text) || own.end !== 'over' || nodes.end === 'over') return false;
  const before = nodes.answered.slice(0, -NO_REST.length);
  const more = own.answered.slice(before.length);
  return own.answered.startsWith(before) && /^HTTP\/1\.1 4\d\d /.test(more) && more.split('HTTP/1.1 ').length === 2;
}

/** The difference between what the two have made of the same bytes, but for what docs/decisions.md gives a reason for. */
export function differenceOf(sent: Buffer, own: Reading, nodes: Reading): string | undefined {
  const text = sent.toString('latin1');
  if (OLDER_BUILD.some((pattern) => pattern.test(text))) return undefined;
  const isSilent = isSilence(text, own, nodes);
  for (const [name, a, b] of [
    ['handed on', own.requests.join('\n'), nodes.requests.join('\n')],
    ['answered', own.answered, nodes.answered],
    ['the connection is', own.end, nodes.end],
  ] as const) {
    if (a !== b && !(isSilent && name !== 'handed on')) return `${name} ${a}\n  with Node's server ${b}`;
  }
  return undefined;
}

export class ServerCampaign implements Campaign {
  readonly name = 'servers';
  readonly #seed: number;
  readonly #own = new ReadingListener('llhttp');
  readonly #nodes = new ReadingListener('node');

  constructor(seed: number) {
    this.#seed = seed;
  }

  get problems(): readonly string[] {
    const left = this.#own.inFlight + this.#nodes.inFlight;
    return left === 0 ? [] : [`${left} requests are open in the end`];
  }

  begin(): void {}

  async run(number: number): Promise<CaseResult> {
    const random = new Random(seedOf(this.#seed, number));
    const { sent, pieces } = drawWrite(random);
    // While much waits, the end is noticed sooner or later.
    const ends = random.chance(ENDING_SHARE) && sent.length < MAX_WAITING_BYTES;
    const { difference, own } = await inWholeLines(pieces, (all) => this.#compare(sent, all, ends));
    const { answers } = readAnswers(own.received, { mayLackBodies: true, isClosed: true });
    return { answers, problems: difference === undefined ? [] : [difference], sent, received: own.received };
  }

  async #compare(
    sent: Buffer,
    pieces: readonly Buffer[],
    ends: boolean,
  ): Promise<{ difference: string | undefined; own: Reading }> {
    const [own, nodes] = await Promise.all([this.#own.read(pieces, ends), this.#nodes.read(pieces, ends)]);
    return { difference: differenceOf(sent, own, nodes), own };
  }
}
