/** The gateway that the clients of the campaigns use: the real program, on the mock unless told, and what passes on the way to it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer, text } from 'node:stream/consumers';
import { isObject, parseJson } from '../../../src/core/json.ts';
import { freePort } from '../../support/ports.ts';

export const PROGRAM = new URL('../../../bin/inf-gw.js', import.meta.url).pathname;
const PRICE =
  '{ input: 1, cached_input: 0.1, cache_write: 1.25, cache_write_1h: 2, output: 5, context_window: 200000, max_output: 32000, tools: { web_search: 0.01 } }';
/**
 * The hosts by their dialects. A client of another dialect is translated. The host of messages is the gateway itself, which
 * translates for its mock.
 */
const configAt = (port: number) => `listen: 127.0.0.1:${port}
state: ./state.db
credit: off
providers:
  native: { kind: mock, models: { echo: ${PRICE} } }
  chat: { kind: mock, dialects: [chat], models: { echo: ${PRICE} } }
  messages: { kind: openai, base_url: 'http://127.0.0.1:${port}/v1', api_key: '\${OWN_KEY}', dialects: [messages], models: { echo: ${PRICE} } }
aliases: { echo: native/echo }
`;

/** A request of a client, and how it was answered. */
export interface Passed {
  readonly path: string;
  readonly body: string;
  readonly isStream: boolean;
  readonly status: number;
  readonly contentType: string;
}

export interface Site {
  /** The address that clients get, without `/v1`. */
  readonly url: string;
  /** May call every model. */
  readonly key: string;
  /** Has spent its limit: each of its requests is 402. */
  readonly spent: string;
  /** What has passed since this was asked the last time. */
  passed(): readonly Passed[];
  /** What a command of the program prints. */
  run(...words: readonly string[]): Promise<string>;
  /** What `inf-gw env` prints for bash. */
  env(client: string, key: string, model: string): Promise<string>;
  stop(): Promise<void>;
}

/** `environment`: what the gateway finds beside the usual. */
export async function startSite(folder: string, config?: string, environment: NodeJS.ProcessEnv = {}): Promise<Site> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.yaml'), config ?? configAt(await freePort()));
  const run = (...words: readonly string[]) => runProgram(folder, words);
  const own = config === undefined ? await run('keys', 'create', 'own') : '';
  const gateway = spawn(process.execPath, [PROGRAM, 'serve'], {
    cwd: folder,
    env: { ...process.env, OWN_KEY: own.trim(), ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const port = await portOf(gateway.stderr);
  const [key, spent] = [
    await run('keys', 'create', 'able'),
    await run('keys', 'create', 'spent', '--spend-limit', '0'),
  ];
  const passed: Passed[] = [];
  const recorder = await startRecorder(port, passed);
  const { port: recorded } = recorder.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${recorded}`,
    key: key.trim(),
    spent: spent.trim(),
    passed: () => passed.splice(0),
    run,
    env: async (client, secret, model) => {
      const block = await run('env', '--client', client, '--key', secret, '--model', model, '--shell', 'bash');
      return block.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${recorded}`);
    },
    stop: async () => {
      recorder.close();
      recorder.closeAllConnections();
      gateway.kill();
      await once(gateway, 'exit');
    },
  };
}

/** Returns what a command of the program prints. */
export async function runProgram(folder: string, words: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [PROGRAM, ...words], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, errors, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  if (status !== 0) throw new Error(`inf-gw ${words.join(' ')}: ${errors}`);
  return output;
}

/** The log says where it listens. */
async function portOf(log: NodeJS.ReadableStream): Promise<number> {
  for await (const line of createInterface({ input: log })) {
    const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (port === undefined) continue;
    log.resume();
    return Number(port);
  }
  throw new Error('the gateway has ended before it listened');
}

/** Passes everything on, and notes it. */
async function startRecorder(port: number, passed: Passed[]) {
  const server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming);
    const { method, headers, url: path = '/' } = incoming;
    const forwarded = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      const { statusCode: status = 0, headers: answered } = answer;
      const fields = parseJson(body.toString())?.value;
      // Google's dialect says it in the path.
      const isStream = path.includes(':streamGenerateContent') || (isObject(fields) && fields.stream === true);
      passed.push({ path, body: body.toString(), isStream, status, contentType: answered['content-type'] ?? '' });
      outgoing.writeHead(status, answered);
      answer.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    forwarded.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
