/**
 * A process that runs one PostgreSQL server for a test, and ends it with the test's process however
 * that dies.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';

/** What the guard is told when it is started. */
export interface GuardOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Undefined for the user of the tests. */
  readonly uid: number | undefined;
  /** Removed in the end. */
  readonly folder: string;
}

/** `crash` ends the server without a checkpoint, as if it was killed, and its folder stays. */
export type GuardOrder = 'start' | 'crash';

export type GuardReport =
  | { readonly kind: 'ready' }
  /** The server has ended. `log`: the end of what it wrote. */
  | { readonly kind: 'ended'; readonly log: string };

const LOG_CHARACTERS = 20_000;

function main({ command, args, env, uid, folder }: GuardOptions): void {
  let server: ChildProcess | undefined;

  const report = (message: GuardReport) => {
    if (process.connected) process.send?.(message);
  };
  const start = () => {
    let log = '';
    let isReady = false;
    const owner = uid === undefined ? {} : { uid, gid: uid };
    const started = spawn(command, args, { env, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'], ...owner });
    server = started;
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-LOG_CHARACTERS);
      // The second one: of a standby.
      if (isReady || !/database system is ready to accept (?:read-only )?connections/.test(log)) return;
      isReady = true;
      report({ kind: 'ready' });
    });
    started.once('error', (error) => {
      server = undefined;
      report({ kind: 'ended', log: String(error) });
    });
    // `close` comes after the last of the log.
    started.once('close', () => {
      server = undefined;
      report({ kind: 'ended', log });
      if (!process.connected) leave();
    });
  };
  const leave = () => rmSync(folder, { recursive: true, force: true });

  process.on('message', (order: GuardOrder) => {
    if (order === 'start') start();
    else server?.kill('SIGQUIT');
  });
  // The test has closed the channel, or is dead.
  process.once('disconnect', () => {
    if (server === undefined) leave();
    else server.kill('SIGQUIT');
  });
}

if (import.meta.main) main(JSON.parse(process.argv[2] ?? '{}') as GuardOptions);
