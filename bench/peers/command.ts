/** Any other gateway, started by a command that its operator types. */
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { type Access, freePort, startServer } from '../start-server.ts';
import { type Server, temporaryDirectory } from '../targets.ts';
import { OutsideProcess } from './outside-process.ts';

export interface CommandPeer {
  readonly name: string;
  /** A line for the shell. Finds in its environment `PORT` to listen on, and `UPSTREAM`, the base URL behind it. */
  readonly line: string;
  readonly key: string;
}

export async function commandPeer({ name, line, key }: CommandPeer, upstreamPort: number): Promise<Server> {
  const access: Access = { port: await freePort(), key, headers: [] };
  const logPath = join(temporaryDirectory(), 'stderr.log');
  const program = {
    command: 'sh',
    // In place of the shell, so that what is measured and ended is the program itself.
    words: ['-c', `exec ${line}`],
    environment: { PORT: String(access.port), UPSTREAM: `http://127.0.0.1:${upstreamPort}/v1` },
    logPath,
    measure: (child: ChildProcess) => new OutsideProcess(child),
  };
  return { name, ...access, mayFail: true, logPath, start: () => startServer(program, access), audit: () => undefined };
}
