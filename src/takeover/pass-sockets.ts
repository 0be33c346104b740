/**
 * Passes listening sockets between processes. Node can do that only over the IPC channel between a parent and its child. Here the
 * processes are unrelated, so each end of a Unix connection is turned into an IPC channel for the transfer.
 */
import childProcess from 'node:child_process';
import { type Server, Socket } from 'node:net';
import { UserError } from '../core/errors.ts';
import { within } from './within.ts';

/** A listening socket of this thread, or the descriptor of a socket in another thread. */
export type ListeningSocket = Server | number;

/** Time limit of a transfer, in milliseconds. */
const PASS_MS = 10_000;

/** Undocumented function of Node that sets up the IPC channel of a child process. */
interface ChannelMaker {
  readonly _forkChild?: (fd: number, serialization: 'json') => void;
}

/** The native part of a socket. */
interface Handle {
  readonly fd: number;
}

/** Properties and events that Node uses on `process` for a channel. The process may already have one with its parent. */
const CHANNEL_PARTS: readonly (string | symbol)[] = [
  'channel',
  'connected',
  'send',
  '_send',
  'disconnect',
  '_disconnect',
  '_handleQueue',
  '_pendingMessage',
];
const CHANNEL_EVENTS = ['message', 'internalMessage', 'disconnect', 'newListener', 'removeListener'] as const;

/**
 * Socket objects whose descriptors have other owners. References prevent garbage collection, which would close the descriptors.
 */
const retained: unknown[] = [];

/**
 * Sends the sockets through a connection, which must have been paused from the start and cannot be used afterwards. The sockets
 * stay open here. Rejects with a UserError.
 */
export async function sendSockets(connection: Socket, sockets: readonly ListeningSocket[]): Promise<void> {
  await asChannel(connection, async () => {
    for (const socket of sockets) await send(handleOf(socket));
    // The receiver hangs up after the last socket.
    await disconnected();
  });
}

/** Receives `count` sockets through a connection and returns their descriptors. Rejects with a UserError. */
export async function receiveSockets(connection: Socket, count: number): Promise<number[]> {
  return asChannel(connection, async () => {
    const handles: Handle[] = [];
    const complete = Promise.withResolvers<void>();
    process.on('message', (_, handle) => {
      handles.push(handle as unknown as Handle);
      if (handles.length === count) complete.resolve();
    });
    await Promise.race([complete.promise, disconnected()]);
    retained.push(...handles);
    const fds = handles.map((handle) => handle?.fd).filter((fd) => typeof fd === 'number' && fd >= 0);
    if (fds.length !== count) throw new UserError(`got ${fds.length} of ${count} listening sockets`);
    return fds;
  });
}

/** Returns Node's undocumented function, or throws a UserError if this version of Node lacks it. */
function channelMaker(): NonNullable<ChannelMaker['_forkChild']> {
  const { _forkChild: makeChannel } = childProcess as ChannelMaker;
  if (typeof makeChannel === 'function') return makeChannel;
  throw new UserError(
    `Node ${process.versions.node} cannot pass listening sockets (it has no child_process._forkChild); stop the gateway and start it`,
  );
}

/** Makes the connection an IPC channel of this process while `work` runs. */
async function asChannel<T>(connection: Socket, work: () => Promise<T>): Promise<T> {
  const makeChannel = channelMaker();
  const restore = detachOwnChannel();
  // The channel closes the descriptor.
  retained.push(connection);
  try {
    makeChannel(fdOf(connection), 'json');
    return await within(PASS_MS, 'the listening sockets were not passed', work());
  } finally {
    if (process.connected) {
      const ended = disconnected();
      process.disconnect?.();
      await ended;
    }
    restore();
  }
}

/** Detaches the channel to the parent process. Returns a function that restores it. */
function detachOwnChannel(): () => void {
  const parts = process as unknown as Record<string | symbol, unknown>;
  const symbols = Object.getOwnPropertySymbols(process).filter((symbol) => symbol.description === 'kChannelHandle');
  const names = [...CHANNEL_PARTS, ...symbols].filter((name) => Object.hasOwn(process, name));
  const values = names.map((name) => parts[name]);
  const listeners = CHANNEL_EVENTS.map((event) => process.rawListeners(event));
  for (const event of CHANNEL_EVENTS) process.removeAllListeners(event);
  return () => {
    for (const event of CHANNEL_EVENTS) process.removeAllListeners(event);
    for (const name of CHANNEL_PARTS) delete parts[name];
    for (const [index, name] of names.entries()) parts[name] = values[index];
    for (const [index, event] of CHANNEL_EVENTS.entries()) {
      for (const listener of listeners[index] ?? []) process.on(event, listener as () => void);
    }
  };
}

function send(handle: Handle): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.('socket', handle as unknown as Socket, {}, (error) =>
      error === null ? resolve() : reject(new UserError(error.message)),
    );
  });
}

function disconnected(): Promise<void> {
  return new Promise((resolve) => process.once('disconnect', resolve));
}

function handleOf(socket: ListeningSocket): Handle {
  if (typeof socket !== 'number') return nativePart(socket);
  const borrowed = new Socket({ fd: socket, readable: false, writable: false });
  retained.push(borrowed);
  return nativePart(borrowed);
}

/** Returns the descriptor of an open socket. */
export function fdOf(socket: Server | Socket): number {
  return nativePart(socket).fd;
}

function nativePart(socket: Server | Socket): Handle {
  return (socket as unknown as { readonly _handle: Handle })._handle;
}
