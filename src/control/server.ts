/** The control socket: HTTP over a Unix socket that only its owner can open. The one door to the live process. */
import { chmodSync, lstatSync, rmSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { UserError } from '../core/errors.ts';
import { createServer } from '../core/node-http.ts';
import { firstLookOf, type Look, nextLook, PATHS, type Snapshot } from './protocol.ts';

/** What the socket gives access to. */
export interface ControlHandlers {
  snapshot(look: Look): Promise<Snapshot>;
  /** Throws a UserError where the config cannot be taken. */
  reload(): Promise<void>;
  drain(): void;
  stopRequest(id: string): Promise<boolean>;
}

/** Between two events of the feed, whatever the load. */
const FEED_MS = 500;
/** How many feeds there may be at a time. */
const MAX_FEEDS = 16;
/** Only the owner may open it. */
const OTHERS = 0o177;
const PRIVATE_MODE = 0o600;

export class ControlServer {
  readonly #path: string;
  readonly #handlers: ControlHandlers;
  readonly #server: Server;
  readonly #feeds = new Set<ServerResponse>();

  constructor(path: string, handlers: ControlHandlers) {
    this.#path = path;
    this.#handlers = handlers;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        // A feed has begun to answer.
        if (response.headersSent) response.destroy();
        else send(response, 500, { lines: [error instanceof Error ? error.message : String(error)] });
      });
    });
  }

  /**
   * Opens the socket. Whoever calls this holds the lock of the state file, so that a socket that is there is stale. Throws a
   * UserError where something else stands there.
   */
  listen(): Promise<void> {
    removeStale(this.#path);
    return new Promise((resolve, reject) => {
      this.#server.once('error', (error) => reject(cannotOpen(this.#path, error)));
      // The socket is made within this call, and must at no moment be open to others.
      const mask = process.umask(OTHERS);
      this.#server.listen(this.#path, () => {
        chmodSync(this.#path, PRIVATE_MODE);
        resolve();
      });
      process.umask(mask);
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    rmSync(this.#path, { force: true });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://control');
    switch (`${request.method} ${pathname}`) {
      case `GET ${PATHS.snapshot}`:
        return send(response, 200, await this.#handlers.snapshot(firstLookOf(searchParams)));
      case `GET ${PATHS.feed}`:
        return this.#feed(response, firstLookOf(searchParams));
      case `POST ${PATHS.reload}`:
        return this.#reload(response);
      case `POST ${PATHS.drain}`:
        this.#handlers.drain();
        return send(response, 200, {});
      case `POST ${PATHS.stopRequest}`:
        return send(response, (await this.#handlers.stopRequest(searchParams.get('id') ?? '')) ? 200 : 404, {});
      default:
        return send(response, 404, {});
    }
  }

  async #reload(response: ServerResponse): Promise<void> {
    try {
      await this.#handlers.reload();
      send(response, 200, {});
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      send(response, 409, { lines: error.lines });
    }
  }

  /** Goes on until its reader leaves. An event that the reader has not taken yet is not followed by another. */
  async #feed(response: ServerResponse, first: Look): Promise<void> {
    if (this.#feeds.size >= MAX_FEEDS) return send(response, 429, {});
    this.#feeds.add(response);
    response.once('close', () => this.#feeds.delete(response));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let look = first;
    while (!response.destroyed) {
      const snapshot = await this.#handlers.snapshot(look);
      look = nextLook(look, snapshot);
      if (!response.write(`data: ${JSON.stringify(snapshot)}\n\n`)) await drained(response);
      await new Promise((resolve) => setTimeout(resolve, FEED_MS));
    }
  }
}

/** Takes away what a killed gateway has left, and nothing else: a file of that name is somebody's. */
function removeStale(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new UserError(`cannot open the control socket ${path}: something else stands there`);
  try {
    rmSync(path, { force: true });
  } catch (error) {
    throw cannotOpen(path, error as NodeJS.ErrnoException);
  }
}

function cannotOpen(path: string, error: NodeJS.ErrnoException): UserError {
  return new UserError(`cannot open the control socket ${path} (${error.code ?? error.message})`);
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.once('drain', resolve).once('close', resolve);
  });
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}
