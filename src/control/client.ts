/** The other end of the control socket: for the commands, and for the dashboard. */
import { lstatSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { userInfo } from 'node:os';
import { UserError } from '../core/errors.ts';
import { request } from '../core/node-http.ts';
import { isShared, PATHS, queryOf, type ReloadFault, type Snapshot, type Wanted } from './protocol.ts';

/** How long an answer may take. */
const PATIENCE_MS = 10_000;
/** Nobody listens there. */
const NOBODY: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTSOCK', 'ECONNRESET']);

/** How the gateway stands; undefined where none runs. Throws a UserError where one runs that cannot be asked. */
export async function readSnapshot(socketPath: string, wanted: Partial<Wanted> = {}): Promise<Snapshot | undefined> {
  const answer = await ask(socketPath, 'GET', `${PATHS.snapshot}?${queryOf(wanted)}`);
  return answer && (JSON.parse(answer.text) as Snapshot);
}

/** Lets the gateway read its config anew. False where none runs. Throws a UserError with what is wrong with the config. */
export async function reloadConfig(socketPath: string): Promise<boolean> {
  const answer = await ask(socketPath, 'POST', PATHS.reload, [200, 409]);
  if (answer === undefined) return false;
  if (answer.status !== 200) throw new UserError((JSON.parse(answer.text) as ReloadFault).lines);
  return true;
}

/** Gives a request up that is under way. False where there is none of that id, or no gateway. */
export async function stopRequest(socketPath: string, id: string): Promise<boolean> {
  const answer = await ask(socketPath, 'POST', `${PATHS.stopRequest}?id=${encodeURIComponent(id)}`, [200, 404]);
  return answer?.status === 200;
}

/** What the feed brings. */
export interface FeedEvents {
  onSnapshot(snapshot: Snapshot): void;
  /** It has ended, or there was nobody to begin it. */
  onEnd(): void;
}

/** Follows the gateway from now on. Throws a UserError where the socket is somebody else's. Ends when it ends, or by what is returned. */
export function followGateway(socketPath: string, wanted: Partial<Wanted>, events: FeedEvents): { close(): void } {
  assertOwn(socketPath);
  const call = request({ socketPath, method: 'GET', path: `${PATHS.feed}?${queryOf(wanted)}` });
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
      for (const part of parts) if (!isClosed) events.onSnapshot(JSON.parse(part.slice('data: '.length)) as Snapshot);
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

/** In the temporary folder anybody may put a socket of that name. Throws a UserError where somebody else has. */
function assertOwn(socketPath: string): void {
  if (!isShared(socketPath)) return;
  const owner = lstatSync(socketPath, { throwIfNoEntry: false })?.uid;
  if (owner === undefined || owner === userInfo().uid) return;
  throw new UserError(`another user owns the control socket ${socketPath}; it is not asked`);
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** The answer, where it has one of these statuses. Undefined where nobody listens. Throws a UserError. */
async function ask(
  socketPath: string,
  method: string,
  path: string,
  expected: readonly number[] = [200],
): Promise<Answer | undefined> {
  try {
    const response = await open(socketPath, method, path);
    let text = '';
    for await (const piece of response.setEncoding('utf8')) text += piece;
    const { statusCode: status = 0 } = response;
    if (!expected.includes(status)) throw new Error(`it answered ${status} ${text}`);
    return { status, text };
  } catch (error) {
    if (error instanceof UserError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (NOBODY.has(code ?? '')) return undefined;
    throw new UserError(`the gateway at ${socketPath} cannot be asked: ${message}`);
  }
}

function open(socketPath: string, method: string, path: string): Promise<IncomingMessage> {
  assertOwn(socketPath);
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, method, path, timeout: PATIENCE_MS }, resolve);
    call.once('timeout', () => call.destroy(new Error(`no answer within ${PATIENCE_MS / 1000} s`)));
    call.once('error', reject);
    call.end();
  });
}
