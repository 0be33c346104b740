/** Starts a server, and measures how long that takes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { Helper, type Measured, PROBE } from './children.ts';
import { requestBytes } from './payloads.ts';

/** How long a process may take until its first 200, in milliseconds. */
const START_TIMEOUT_MS = 15_000;
/** The time between two attempts to get an answer, in milliseconds. */
const POLL_MS = 2;

/** What a client needs to send requests to a server. */
export interface Access {
  readonly port: number;
  readonly key: string;
  /** Additional header lines that the server needs. */
  readonly headers: readonly string[];
}

/** A running server, and the time from its start to its first 200. */
export interface Started {
  readonly process: Measured;
  readonly startUpMs: number;
}

/** How to start a program. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The file for its stderr. */
  readonly logPath: string;
  /** How to measure a process without the probe. */
  readonly measure?: (child: ChildProcess) => Measured;
}

/** A Node script with the probe loaded. */
export function nodeProgram(args: readonly string[], logPath: string): Program {
  return { command: process.execPath, args: ['--expose-gc', '--import', PROBE, ...args], logPath };
}

/** Starts a program, and waits for its first 200. */
export async function startServer(program: Program, access: Access): Promise<Started> {
  const { command, args, environment, logPath, measure } = program;
  const log = openSync(logPath, 'a');
  const startedAtMs = performance.now();
  const child = spawn(command, args, {
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
    if (child.exitCode !== null || performance.now() - startedAtMs > START_TIMEOUT_MS) {
      await measured.stop();
      const stderr = readFileSync(logPath, 'utf8').slice(-2_000);
      throw new Error(`${[command, ...args].join(' ')} does not answer:\n${stderr}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
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
