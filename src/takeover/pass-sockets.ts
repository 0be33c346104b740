/**
 * Passes listening sockets from one process to another. Node does so only on its IPC channels, which
 * a process has with its parent and its children. So both ends of a connection between two processes
 * that are neither become an IPC channel for as long as that takes.
 */
import childProcess from 'node:child_process';
import { type Server, Socket } from 'node:net';
import { UserError } from '../core/errors.ts';
import { within } from './within.ts';

/** A socket that listens in this thread, or its descriptor in another one. */
export type ListeningSocket = Server | number;

/** How long it may take, in milliseconds. */
const PASS_MS = 10_000;

/** What Node calls in a process that its parent has given a channel. */
interface ChannelMaker {
  readonly _forkChild?: (fd: number, serialization: 'json') => void;
}

/** The native part of a socket. */
interface Handle {
  readonly fd: number;
}

/** What Node sets and listens to on `process` for a channel. The process may have one with its parent. */
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

/** Sockets without a use of their own, whose descriptors belong to others: to close them would close those. */
const kept: unknown[] = [];

/**
 * Sends the sockets through a connection, which must be paused since it was made, and is used up.
 * They go on listening here. Rejects with a UserError.
 */
export async function sendSockets(connection: Socket, sockets: readonly ListeningSocket[]): Promise<void> {
  await asChannel(connection, async () => {
    for (const socket of sockets) await send(handleOf(socket));
    // The other process has them all once it hangs up.
    await disconnected();
  });
}

/** Receives as many sockets through such a connection. Returns their descriptors. Rejects with a UserError. */
export async function receiveSockets(connection: Socket, count: number): Promise<number[]> {
  return asChannel(connection, async () => {
    const handles: Handle[] = [];
    const complete = Promise.withResolvers<void>();
    process.on('message', (_, handle) => {
      handles.push(handle as unknown as Handle);
      if (handles.length === count) complete.resolve();
    });
    await Promise.race([complete.promise, disconnected()]);
    kept.push(...handles);
    const fds = handles.map((handle) => handle?.fd).filter((fd) => typeof fd === 'number' && fd >= 0);
    if (fds.length !== count) throw new UserError(`got ${fds.length} of ${count} listening sockets`);
    return fds;
  });
}

/** The function of Node that is not documented. Throws a UserError if this Node has it no longer. */
function channelMaker(): NonNullable<ChannelMaker['_forkChild']> {
  const { _forkChild: makeChannel } = childProcess as ChannelMaker;
  if (typeof makeChannel === 'function') return makeChannel;
  throw new UserError(
    `Node ${process.versions.node} cannot pass listening sockets (it has no child_process._forkChild); stop the gateway and start it`,
  );
}

/** Makes this process one end of an IPC channel while `work` runs. */
async function asChannel<T>(connection: Socket, work: () => Promise<T>): Promise<T> {
  const makeChannel = channelMaker();
  const restore = setOwnChannelAside();
  // The channel closes its descriptor.
  kept.push(connection);
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

/** Returns what puts everything back in place. */
function setOwnChannelAside(): () => void {
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
  kept.push(borrowed);
  return nativePart(borrowed);
}

/** The descriptor of a socket that is open. */
export function fdOf(socket: Server | Socket): number {
  return nativePart(socket).fd;
}

function nativePart(socket: Server | Socket): Handle {
  return (socket as unknown as { readonly _handle: Handle })._handle;
}
