/** Communication with systemd: receives sockets (sd_listen_fds), and sends state changes (sd_notify). */
import { execFile } from 'node:child_process';
import { fstatSync } from 'node:fs';
import { UserError } from '../core/errors.ts';
import type { Log } from '../observe/log.ts';

/** First file descriptor passed by systemd. */
const FIRST_FD = 3;
/** Upper bound, above the number of cores of any machine. */
const MAX_SOCKETS = 1024;
/** Variables set by socket activation. */
const LISTEN_VARIABLES = ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES'];

/**
 * Returns the descriptors of the listening sockets passed by systemd to this process, if any. Removes the variables from the
 * environment, so that child processes do not use the sockets. Throws a UserError for invalid values.
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

/** State changes of a service with `Type=notify`. */
export interface Notification {
  /** The gateway serves requests. */
  readonly ready?: true;
  /** The process is shutting down. */
  readonly stopping?: true;
  /** The new main process of the service. */
  readonly mainPid?: number;
}

/** Time limit for an unresponsive systemd. Sending normally takes milliseconds. */
const NOTIFY_TIMEOUT_MS = 5_000;

/**
 * Notifies systemd if it has set NOTIFY_SOCKET. Node has no Unix datagram sockets, so this runs `systemd-notify`. Failures are
 * logged, because requests can still be served. Never rejects.
 */
export function notify(notification: Notification, log: Log, environment = process.env): Promise<void> {
  const { NOTIFY_SOCKET, PATH } = environment;
  if (NOTIFY_SOCKET === undefined) return Promise.resolve();
  const fields = fieldsOf(notification);
  // Passes only the required variables, because the environment contains secrets.
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
