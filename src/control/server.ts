/** The server of the control socket: HTTP over a Unix socket that only its owner can open. */
import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs';
import type { Server as SocketServer } from 'node:net';
import { dirname } from 'node:path';
import { statusOf, UserError } from '../core/errors.ts';
import type { ExplainQuestion, Explanation } from '../core/explanation.ts';
import { assertPrivate, PRIVATE_MODE } from '../core/files.ts';
import { BodyError, BodyReader } from '../http/body.ts';
import { LlhttpServer } from '../http/llhttp-server.ts';
import { writeParserError } from '../http/raw-response.ts';
import type { HttpRequest, HttpResponse } from '../http/server.ts';
import type { RefusalPage, RefusalQuery, RefusedMinutes } from '../observe/refusals.ts';
import type { SnapshotQuery } from '../observe/worker-snapshot.ts';
import {
  decodeQuery,
  decodeRefusalQuery,
  type Greeting,
  isInPrivateFolder,
  type KeyRefusal,
  type ModelRow,
  nextQuery,
  PATHS,
  type ReloadProblem,
  type Snapshot,
  type TakeoverOffer,
} from './protocol.ts';

/** The functions of the gateway that the socket exposes. */
export interface ControlHandlers {
  snapshot(query: SnapshotQuery): Promise<Snapshot>;
  models(): readonly ModelRow[];
  /** Throws a UserError if the config cannot be applied. */
  reload(): Promise<void>;
  drain(): void;
  stopRequest(id: string): Promise<boolean>;
  refusals(query: RefusalQuery): Promise<RefusalPage>;
  refusedMinutes(keyId: string): Promise<readonly RefusedMinutes[]>;
  /** Asks the provider with a request that is free of charge. */
  keyRefusal(provider: string): Promise<KeyRefusal | undefined>;
  explain(question: ExplainQuestion): Promise<Explanation>;
  /** Starts a handover to another process. Throws a UserError if it is impossible. */
  takeOver(offer: TakeoverOffer): Promise<Greeting>;
}

/** The time between two events of a feed in milliseconds, whatever the load. */
const FEED_MS = 500;
/** The maximum of open feeds. */
const MAX_FEEDS = 16;
/** Larger than any `max_body`: bodies beyond `max_body` are explained as well. */
const MAX_BODY_BYTES = 300 * 1024 * 1024;
/** The timeout of a request's head, and of gaps in its body, in milliseconds. */
const REQUEST_MS = 10_000;
/** The lifetime of an idle connection, in milliseconds. */
const KEEP_ALIVE_MS = 5_000;
/** The umask with which only the owner can open a socket, and the resulting mode. */
const PRIVATE_MASK = 0o177;
const SOCKET_MODE = 0o600;

export class ControlServer {
  readonly #path: string;
  readonly #handlers: ControlHandlers;
  readonly #server: LlhttpServer;
  readonly #feeds = new Set<HttpResponse>();

  constructor(path: string, handlers: ControlHandlers) {
    this.#path = path;
    this.#handlers = handlers;
    const server = new LlhttpServer(
      { headMs: REQUEST_MS, keepAliveMs: KEEP_ALIVE_MS, certificate: undefined },
      {
        onConnection: () => {},
        onSecured: () => {},
        onRequest: (request, response) => this.#onRequest(request, response),
        onConnect: (socket) => socket.destroy(),
        onClientError: (error, socket) => {
          server.stop(socket);
          if (socket.writable) writeParserError(socket, error);
          else socket.destroy();
        },
        onTimeout: (socket) => socket.destroy(),
      },
    );
    this.#server = server;
  }

  /**
   * Opens the socket. The caller must hold the lock of the state file, so that an existing socket is stale. Throws a
   * UserError if the path is not a socket, or if the socket cannot be created.
   */
  async listen(): Promise<void> {
    makePrivateFolder(this.#path);
    removeStale(this.#path);
    try {
      await listenPrivately(this.#server.acceptor, this.#path);
    } catch (error) {
      throw cannotOpen(this.#path, error);
    }
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    rmSync(this.#path, { force: true });
  }

  #onRequest(request: HttpRequest, response: HttpResponse): void {
    this.#answer(request, response).catch((error: unknown) => {
      // A feed has already sent its head.
      if (response.headersSent) response.destroy();
      else if (error instanceof BodyError) sendBodyError(response, error);
      else send(response, 500, { lines: [error instanceof Error ? error.message : String(error)] });
    });
  }

  async #answer(request: HttpRequest, response: HttpResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://control');
    switch (`${request.method} ${pathname}`) {
      case `GET ${PATHS.snapshot}`:
        return send(response, 200, await this.#handlers.snapshot(decodeQuery(searchParams)));
      case `GET ${PATHS.models}`:
        return send(response, 200, this.#handlers.models());
      case `GET ${PATHS.refusals}`:
        return send(response, 200, await this.#handlers.refusals(decodeRefusalQuery(searchParams)));
      case `GET ${PATHS.refusedMinutes}`:
        return send(response, 200, await this.#handlers.refusedMinutes(searchParams.get('key') ?? ''));
      case `GET ${PATHS.keyRefusal}`:
        return send(response, 200, (await this.#handlers.keyRefusal(searchParams.get('provider') ?? '')) ?? {});
      case `GET ${PATHS.feed}`:
        return this.#feed(response, decodeQuery(searchParams));
      case `POST ${PATHS.reload}`:
        return this.#attempt(response, async () => {
          await this.#handlers.reload();
          return {};
        });
      case `POST ${PATHS.takeOver}`:
        return this.#attempt(response, () => {
          const numberOf = (field: keyof TakeoverOffer) => Number(searchParams.get(field));
          const [pid, takeover, serialization] = [numberOf('pid'), numberOf('takeover'), numberOf('serialization')];
          return this.#handlers.takeOver({ pid, takeover, serialization });
        });
      case `POST ${PATHS.drain}`:
        this.#handlers.drain();
        return send(response, 200, {});
      case `POST ${PATHS.explain}`: {
        const [keyId, path] = [searchParams.get('key') ?? '', searchParams.get('path') ?? undefined];
        const user = searchParams.get('user') ?? undefined;
        const body = await new BodyReader(request, MAX_BODY_BYTES, REQUEST_MS, () => undefined).read();
        return send(response, 200, await this.#handlers.explain({ keyId, path, user, body }));
      }
      case `POST ${PATHS.stopRequest}`:
        return send(response, (await this.#handlers.stopRequest(searchParams.get('id') ?? '')) ? 200 : 404, {});
      default:
        return send(response, 404, {});
    }
  }

  async #attempt(response: HttpResponse, work: () => Promise<unknown>): Promise<void> {
    try {
      send(response, 200, await work());
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      send(response, 409, { lines: error.lines } satisfies ReloadProblem);
    }
  }

  /** Sends events until the reader leaves. The next event is built after a slow reader has received the previous one. */
  async #feed(response: HttpResponse, first: SnapshotQuery): Promise<void> {
    if (this.#feeds.size >= MAX_FEEDS) return send(response, 429, {});
    this.#feeds.add(response);
    response.on('close', () => this.#feeds.delete(response));
    response.writeHead(200, ['Content-Type', 'text/event-stream']);
    let query = first;
    while (!response.destroyed) {
      const snapshot = await this.#handlers.snapshot(query);
      query = nextQuery(query, snapshot);
      if (response.destroyed) return;
      if (!response.write(Buffer.from(`data: ${JSON.stringify(snapshot)}\n\n`))) await drained(response);
      await new Promise((resolve) => setTimeout(resolve, FEED_MS));
    }
  }
}

/** In a folder that other users can write to, they could replace the socket. */
function makePrivateFolder(path: string): void {
  if (!isInPrivateFolder(path)) return;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_MODE });
    assertPrivate(dirname(path));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UserError(`cannot open the control socket: ${why}; name a folder of your own in XDG_RUNTIME_DIR`);
  }
}

/** Removes the stale socket of a killed gateway, and no other file. */
function removeStale(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket())
    throw new UserError(`cannot open the control socket ${path}: the path exists and is not a socket`);
  try {
    rmSync(path, { force: true });
  } catch (error) {
    throw cannotOpen(path, error);
  }
}

function cannotOpen(path: string, error: unknown): UserError {
  const { code, message } = error as NodeJS.ErrnoException;
  return new UserError(`cannot open the control socket ${path} (${code ?? message})`);
}

/** Opens a socket that only this user can open. */
export async function listenPrivately(server: SocketServer, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // The socket is created within this call, and must not be open to other users at any time.
    const mask = process.umask(PRIVATE_MASK);
    server.listen(path, resolve);
    process.umask(mask);
  });
  chmodSync(path, SOCKET_MODE);
}

function drained(response: HttpResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

function sendBodyError(response: HttpResponse, { refusal, message }: BodyError): void {
  if (refusal !== undefined) send(response, statusOf(refusal.error), { lines: [message] });
}

function send(response: HttpResponse, status: number, body: unknown): void {
  if (response.destroyed) return;
  const text = JSON.stringify(body);
  // The connection closes instead of reading the rest of the body.
  if (!response.req.complete) response.shouldKeepAlive = false;
  response.writeHead(status, ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(text))]);
  response.end(text);
}
