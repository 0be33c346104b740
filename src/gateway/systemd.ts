/** What systemd and the gateway tell each other: sockets that it passes (sd_listen_fds), and states (sd_notify). */
import { execFile } from 'node:child_process';
import { fstatSync } from 'node:fs';
import { UserError } from '../core/errors.ts';
import type { Log } from '../observe/log.ts';

/** The first file descriptor that systemd passes. */
const FIRST_FD = 3;
/** More than a machine has cores. */
const MAX_SOCKETS = 1024;
/** What a socket unit says; a unit without it passes none. */
const LISTEN_VARIABLES = ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES'];

/**
 * The listening sockets that systemd has passed to this process, as file descriptors: none if it has not, or if they are meant
 * for another process. Takes their variables out of the environment, so that no child takes the sockets for its own. Throws a
 * UserError if what was passed cannot be sockets.
 */
export function takeSockets(environment: NodeJS.ProcessEnv, pid: number): readonly number[] {
  const { LISTEN_PID: forPid, LISTEN_FDS: count } = environment;
  for (const name of LISTEN_VARIABLES) delete environment[name];
  if (forPid === undefined || count === undefined || Number(forPid) !== pid) return [];
  if (!/^[1-9]\d*$/.test(count) || Number(count) > MAX_SOCKETS) {
    throw new UserError(
      `LISTEN_FDS is ${JSON.stringify(count)}, which is not a number of sockets; start inf-gw without it`,
    );
  }
  const sockets = Array.from({ length: Number(count) }, (_, index) => FIRST_FD + index);
  const stray = sockets.find((fd) => !isSocket(fd));
  if (stray === undefined) return sockets;
  throw new UserError(`LISTEN_FDS is ${count}, but file descriptor ${stray} is not a socket; start inf-gw without it`);
}

function isSocket(fd: number): boolean {
  try {
    return fstatSync(fd).isSocket();
  } catch {
    return false;
  }
}

/** What systemd is told, of a service with `Type=notify`. */
export interface Notification {
  /** Requests are served from now on. */
  readonly ready?: true;
  /** The process is shutting down. */
  readonly stopping?: true;
  /** The process that is the service from now on. */
  readonly mainPid?: number;
}

/** Sending takes milliseconds: this is for a systemd that does not answer. */
const NOTIFY_TIMEOUT_MS = 5_000;

/**
 * Tells systemd a state, if it has asked for that. Node has no datagram sockets of the Unix kind, so systemd's own program sends
 * it. What goes wrong is logged: requests can be served all the same. Never rejects.
 */
export function notify(notification: Notification, log: Log, environment = process.env): Promise<void> {
  const { NOTIFY_SOCKET, PATH } = environment;
  if (NOTIFY_SOCKET === undefined) return Promise.resolve();
  const fields = fieldsOf(notification);
  // The secrets in the environment are none of its business.
  const options = { env: { NOTIFY_SOCKET, PATH }, timeout: NOTIFY_TIMEOUT_MS };
  return new Promise((resolve) => {
    execFile('systemd-notify', fields, options, (error, _, stderr) => {
      if (error !== null) log.error(`cannot tell systemd ${fields.join(' ')}: ${reasonOf(error, stderr)}`);
      resolve();
    });
  });
}

function fieldsOf({ ready, stopping, mainPid }: Notification): string[] {
  return [
    ...(mainPid === undefined ? [] : [`MAINPID=${mainPid}`]),
    ...(ready ? ['READY=1'] : []),
    ...(stopping ? ['STOPPING=1'] : []),
  ];
}

function reasonOf(
  error: Error & { readonly code?: unknown; readonly killed?: boolean; readonly signal?: unknown },
  stderr: string,
): string {
  if (error.code === 'ENOENT') return 'there is no program systemd-notify; install it, or set Type=exec in the unit';
  if (error.killed) return `systemd-notify took longer than ${NOTIFY_TIMEOUT_MS / 1000} s`;
  if (error.signal) return `systemd-notify was ended by ${error.signal}`;
  return stderr.trim() || error.message.trim();
}
