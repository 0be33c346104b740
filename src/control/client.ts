/** The client of the control socket, for commands and the dashboard. */
import { lstatSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { dirname } from 'node:path';
import { UserError } from '../core/errors.ts';
import type { ExplainQuestion, Explanation } from '../core/explanation.ts';
import { assertPrivate, ownUid } from '../core/files.ts';
import { httpCall, textOf } from '../core/http-call.ts';
import { isObject, parseJson } from '../core/json.ts';
import { request } from '../core/node-http.ts';
import type { RefusalPage, RefusalQuery, RefusedMinutes } from '../observe/refusals.ts';
import type { SnapshotQuery } from '../observe/worker-snapshot.ts';
import {
  encodeQuery,
  encodeRefusalQuery,
  type Greeting,
  isInPrivateFolder,
  type KeyRefusal,
  type ModelRow,
  PATHS,
  type ReloadProblem,
  type Snapshot,
  type TakeoverOffer,
} from './protocol.ts';

/** The timeout of a response, in milliseconds. */
const TIMEOUT_MS = 10_000;
/** The maximum size of a response. A snapshot of 10,000 keys and all requests in flight has some 10 million bytes. */
const MAX_ANSWER_CHARACTERS = 64 * 1024 * 1024;
const MAX_SHOWN_CHARACTERS = 200;
/** Connection errors that mean that no gateway runs. */
const NOT_RUNNING: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTSOCK', 'ECONNRESET', 'EPIPE']);

/** A snapshot of the gateway; undefined if none runs. Throws a UserError if a gateway runs but does not respond. */
export async function readSnapshot(
  socketPath: string,
  query: Partial<SnapshotQuery> = {},
): Promise<Snapshot | undefined> {
  const answer = await ask(socketPath, 'GET', `${PATHS.snapshot}?${encodeQuery(query)}`);
  if (answer === undefined) return undefined;
  if (isObject(answer.value) && typeof answer.value.version === 'string') return answer.value as unknown as Snapshot;
  throw unintelligible(socketPath);
}

/** The models that the gateway serves; undefined if no gateway runs, or it is too old. Throws as `readSnapshot` does. */
export async function readModels(socketPath: string): Promise<readonly ModelRow[] | undefined> {
  const answer = await ask(socketPath, 'GET', PATHS.models, [200, 404]);
  return answer?.status === 200 ? (answer.value as ModelRow[]) : undefined;
}

/** The gateway's recent refusals; undefined if no gateway runs, or it is too old. Throws as `readSnapshot` does. */
export async function readRefusals(socketPath: string, query: RefusalQuery): Promise<RefusalPage | undefined> {
  const answer = await ask(socketPath, 'GET', `${PATHS.refusals}?${encodeRefusalQuery(query)}`, [200, 404]);
  return answer?.status === 200 ? (answer.value as RefusalPage) : undefined;
}

/** The refusals of a key in the last hour, by reason; undefined as above. */
export async function readRefusedMinutes(
  socketPath: string,
  keyId: string,
): Promise<readonly RefusedMinutes[] | undefined> {
  const query = new URLSearchParams({ key: keyId });
  const answer = await ask(socketPath, 'GET', `${PATHS.refusedMinutes}?${query}`, [200, 404]);
  return answer?.status === 200 ? (answer.value as RefusedMinutes[]) : undefined;
}

/**
 * Whether a provider refuses the gateway's key, as checked by the gateway. Undefined if it does not, if no gateway runs, or
 * if the gateway is too old. Throws as `readSnapshot` does.
 */
export async function readKeyRefusal(socketPath: string, provider: string): Promise<KeyRefusal | undefined> {
  const query = new URLSearchParams({ provider });
  const answer = await ask(socketPath, 'GET', `${PATHS.keyRefusal}?${query}`, [200, 404]);
  const isRefusal = answer?.status === 200 && isObject(answer.value) && typeof answer.value.message === 'string';
  return isRefusal ? (answer.value as unknown as KeyRefusal) : undefined;
}

/** Makes the gateway reload its config. False if no gateway runs. Throws a UserError with the config's problems. */
export async function reloadConfig(socketPath: string): Promise<boolean> {
  const answer = await ask(socketPath, 'POST', PATHS.reload, [200, 409]);
  if (answer === undefined) return false;
  if (answer.status !== 200) throw new UserError((answer.value as ReloadProblem).lines);
  return true;
}

/** Asks the gateway to hand over to this process; undefined if no gateway runs. Throws a UserError if it refuses. */
export async function askToHandOver(socketPath: string, offer: TakeoverOffer): Promise<Greeting | undefined> {
  const query = new URLSearchParams(Object.entries(offer).map(([name, number]) => [name, String(number)]));
  const answer = await ask(socketPath, 'POST', `${PATHS.takeOver}?${query}`, [200, 404, 409]);
  if (answer === undefined) return undefined;
  if (answer.status === 200) return answer.value as Greeting;
  throw new UserError(
    answer.status === 404
      ? 'the running gateway is too old to hand over; stop it, then start the new one'
      : (answer.value as ReloadProblem).lines,
  );
}

/** Aborts a request in flight. False if no request in flight has this id, or if no gateway runs. */
export async function stopRequest(socketPath: string, id: string): Promise<boolean> {
  const answer = await ask(socketPath, 'POST', `${PATHS.stopRequest}?id=${encodeURIComponent(id)}`, [200, 404]);
  return answer?.status === 200;
}

/** The gateway's explanation of a body; undefined if no gateway runs. Throws as `readSnapshot` does. */
export async function explainBody(
  socketPath: string,
  { keyId, path, user, body }: ExplainQuestion,
): Promise<Explanation | undefined> {
  const query = new URLSearchParams({
    key: keyId,
    ...(path !== undefined && { path }),
    ...(user !== undefined && { user }),
  });
  const answer = await ask(socketPath, 'POST', `${PATHS.explain}?${query}`, [200, 404, 413], body);
  if (answer === undefined) return undefined;
  if (answer.status === 200) return answer.value as Explanation;
  throw new UserError(
    answer.status === 413
      ? 'the body is larger than any that a gateway takes'
      : 'the running gateway is too old to explain; restart it, or take over from it with `serve --takeover`',
  );
}

/** The reader of a feed. */
export interface FeedEvents {
  onSnapshot(snapshot: Snapshot): void;
  /** The feed has ended, or no gateway runs. Not called after `close()`. */
  onEnd(): void;
}

/** Follows the gateway until it ends or `close()` is called. Throws a UserError if another user owns the socket. */
export function followGateway(
  socketPath: string,
  query: Partial<SnapshotQuery>,
  events: FeedEvents,
): { close(): void } {
  assertOwn(socketPath);
  const call = request({ socketPath, method: 'GET', path: `${PATHS.feed}?${encodeQuery(query)}` });
  let isClosed = false;
  const end = () => {
    if (!isClosed) events.onEnd();
    isClosed = true;
  };
  call.once('response', (response: IncomingMessage) => {
    let pending = '';
    response.setEncoding('utf8').on('data', (piece: string) => {
      const parts = (pending + piece).split('\n\n');
      pending = parts.pop() ?? '';
      if (pending.length > MAX_ANSWER_CHARACTERS) call.destroy();
      for (const part of parts) {
        if (isClosed) return;
        const snapshot = parseJson(part.slice('data: '.length))?.value;
        if (!isObject(snapshot)) return void call.destroy();
        events.onSnapshot(snapshot as unknown as Snapshot);
      }
    });
    response.once('close', end);
  });
  call.once('error', end).end();
  return {
    close: () => {
      isClosed = true;
      call.destroy();
    },
  };
}

/** Throws a UserError if another user owns the socket, or could replace it. */
function assertOwn(socketPath: string): void {
  if (!isInPrivateFolder(socketPath)) return;
  const owner = lstatSync(socketPath, { throwIfNoEntry: false })?.uid;
  if (owner === undefined) return;
  if (owner !== ownUid()) {
    throw new UserError(`the control socket ${socketPath} belongs to another user; not connecting to it`);
  }
  try {
    assertPrivate(dirname(socketPath));
  } catch (error) {
    throw new UserError(`not connecting to the control socket ${socketPath}: ${(error as Error).message}`);
  }
}

interface Answer {
  readonly status: number;
  /** Sent as JSON. */
  readonly value: unknown;
}

/** Sends a request; undefined if no gateway runs. Throws a UserError for any other failure, and for an unexpected status. */
async function ask(
  socketPath: string,
  method: string,
  path: string,
  expected: readonly number[] = [200],
  body?: Uint8Array,
): Promise<Answer | undefined> {
  try {
    assertOwn(socketPath);
    // A starting gateway also asks here, usually without finding another one. Throws if the folder is inaccessible.
    if (lstatSync(socketPath, { throwIfNoEntry: false }) === undefined) return undefined;
    const options = { socketPath, method, body, timeoutMs: TIMEOUT_MS };
    const tooLong = () => new Error(`its answer has more than ${MAX_ANSWER_CHARACTERS} characters`);
    const { status, text } = await httpCall(new URL(path, 'http://control'), options, async (response) => ({
      status: response.statusCode ?? 0,
      text: await textOf(response, MAX_ANSWER_CHARACTERS, tooLong),
    }));
    if (!expected.includes(status))
      throw new Error(`unexpected answer ${status} ${text.slice(0, MAX_SHOWN_CHARACTERS)}`);
    const value = JSON.parse(text) as unknown;
    // An object or an array of objects.
    if (typeof value !== 'object' || value === null) throw unintelligible(socketPath);
    return { status, value };
  } catch (error) {
    if (error instanceof UserError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (NOT_RUNNING.has(code ?? '')) return undefined;
    throw new UserError(`the gateway at ${socketPath} does not answer: ${message}`);
  }
}

function unintelligible(socketPath: string): UserError {
  return new UserError(
    `the process at ${socketPath} does not answer as a gateway does; stop it, or restart the gateway of this state`,
  );
}
