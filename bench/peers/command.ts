/** Any other gateway, started by a command line. */
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { OutsideProcess } from '../outside-process.ts';
import { type Access, freePort, startServer } from '../start-server.ts';
import { type Server, temporaryDirectory } from '../targets.ts';

export interface CommandPeer {
  readonly name: string;
  /**
   * A shell command. Its environment has `PORT` to listen on, and `UPSTREAM`, the base URL of the
   * upstream.
   */
  readonly line: string;
  readonly key: string;
}

export async function commandPeer({ name, line, key }: CommandPeer, upstreamPort: number): Promise<Server> {
  const access: Access = { port: await freePort(), key, headers: [] };
  const logPath = join(temporaryDirectory(), 'stderr.log');
  const program = {
    command: 'sh',
    // `exec` replaces the shell, so that the program itself is measured and stopped.
    args: ['-c', `exec ${line}`],
    environment: { PORT: String(access.port), UPSTREAM: `http://127.0.0.1:${upstreamPort}/v1` },
    logPath,
    measure: (child: ChildProcess) => new OutsideProcess(child),
  };
  return { name, ...access, mayFail: true, logPath, start: () => startServer(program, access), audit: () => undefined };
}
