/** Starts a program that serves, and finds out how long that takes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { Helper, type Measured, PROBE } from './children.ts';
import { requestBytes } from './payloads.ts';

/** How long a process may take for its first 200. */
const PATIENCE_MS = 15_000;
/** Between two looks at whether a server answers. */
const LOOK_AGAIN_MS = 2;

/** How a server is spoken to. */
export interface Access {
  readonly port: number;
  readonly key: string;
  /** Whole header lines that it wants besides. */
  readonly headers: readonly string[];
}

/** A server that was started, and how long it took until it answered a request with a 200. */
export interface Started {
  readonly process: Measured;
  readonly startUpMs: number;
}

/** A program, and how it is started. */
export interface Program {
  readonly command: string;
  readonly words: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** What it writes to stderr goes there. */
  readonly logPath: string;
  /** How a process is measured that has no probe in it. */
  readonly measure?: (child: ChildProcess) => Measured;
}

/** A script for Node, with the probe in it. */
export function nodeProgram(words: readonly string[], logPath: string): Program {
  return { command: process.execPath, words: ['--expose-gc', '--import', PROBE, ...words], logPath };
}

/** Starts a program, and waits for its first 200. */
export async function startServer(program: Program, access: Access): Promise<Started> {
  const { command, words, environment, logPath, measure } = program;
  const log = openSync(logPath, 'a');
  const startedAtMs = performance.now();
  const child = spawn(command, words, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', log, ...(measure === undefined ? ['ipc' as const] : [])],
  });
  closeSync(log);
  let spawnError: Error | undefined;
  child.once('error', (error) => {
    spawnError = error;
  });
  const measured = measure === undefined ? new Helper(child) : measure(child);
  const request = requestBytes({ ...access, stream: false });
  while (!(await answersOk(access.port, request))) {
    if (spawnError !== undefined) throw spawnError;
    if (child.exitCode !== null || performance.now() - startedAtMs > PATIENCE_MS) {
      await measured.stop();
      const said = readFileSync(logPath, 'utf8').slice(-2_000);
      throw new Error(`${[command, ...words].join(' ')} does not answer:\n${said}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
  return { process: measured, startUpMs: performance.now() - startedAtMs };
}

function answersOk(port: number, request: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.once('data', (bytes) => {
      resolve(bytes.toString('latin1').startsWith('HTTP/1.1 200 '));
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.once('end', () => resolve(false));
  });
}

/** A port that is free at this moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => (address !== null && typeof address === 'object' ? resolve(address.port) : reject(address)));
    });
  });
}
