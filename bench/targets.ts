/** The servers that are measured: two bare proxies, and gateways with a working ledger. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UPSTREAM_MODEL } from './payloads.ts';
import { type Access, freePort, nodeProgram, type Started, startServer } from './start-server.ts';

/**
 * The two proxies that the gateway is compared with: one as most are written, and the cheapest
 * possible.
 */
export const BARE_PROXY = 'bare proxy';
export const BAREST_PROXY = 'barest proxy';
const PROXY_FILES = { [BARE_PROXY]: './bare-proxy.js', [BAREST_PROXY]: './barest-proxy.js' };

/** Enough for a table of 100,000 keys. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** A server that can be started several times, and answers requests on a port. */
export interface Server extends Access {
  readonly name: string;
  /** Whether the benchmark goes on if it fails at a workload. */
  readonly mayFail: boolean;
  /** The file with its stderr. */
  readonly logPath: string;
  start(): Promise<Started>;
  /**
   * Compares its accounts with the number of its answers. Returns what is wrong; undefined if
   * nothing is.
   */
  audit(answers: number): string | undefined;
}

export async function proxy(name: keyof typeof PROXY_FILES, upstreamPort: number): Promise<Server> {
  const access: Access = { port: await freePort(), key: 'ignored', headers: [] };
  const file = fileURLToPath(new URL(PROXY_FILES[name], import.meta.url));
  const logPath = join(temporaryDirectory(), 'stderr.log');
  const program = nodeProgram([file, String(access.port), String(upstreamPort)], logPath);
  return {
    name,
    ...access,
    mayFail: false,
    logPath,
    start: () => startServer(program, access),
    audit: () => undefined,
  };
}

export interface GatewayOptions {
  readonly name: string;
  /** The checkout whose `bin/inf-gw.js` is run. */
  readonly checkout: string;
  /** Fields of its config, in addition to those that all have. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** A gateway and its commands. */
export interface GatewayServer extends Server {
  /** Runs a command and returns its output. */
  run(...args: string[]): string;
}

/** Sets up a gateway: a config, a key with limits out of reach, and credit. */
export async function gateway(options: GatewayOptions, upstreamPort: number): Promise<GatewayServer> {
  const { name, checkout, settings = {} } = options;
  const program = join(checkout, 'bin', 'inf-gw.js');
  if (!existsSync(join(checkout, 'dist', 'cli', 'main.js'))) throw new Error(`build ${checkout} first: npm run build`);
  const directory = temporaryDirectory();
  const port = await freePort();
  const configPath = join(directory, 'config.yaml');
  writeFileSync(configPath, configText(port, upstreamPort, settings));
  const run = (...args: string[]): string =>
    execFileSync(process.execPath, [program, ...args, '--config', configPath], {
      encoding: 'utf8',
      stdio: 'pipe',
      maxBuffer: MAX_OUTPUT_BYTES,
    });
  const command = (...args: string[]): unknown => JSON.parse(run(...args, '--json'));
  const limits = ['--rpm', '1000000000', '--tpm', '1000000000000', '--concurrency', '100000'];
  const { key } = command('keys', 'create', 'bench', ...limits) as { key: string };
  command('credit', 'add', '1000000');
  const access: Access = { port, key, headers: [] };
  const logPath = join(directory, 'stderr.log');
  const server = nodeProgram([program, 'serve', '--config', configPath], logPath);
  return {
    name,
    ...access,
    mayFail: false,
    logPath,
    run,
    start: () => startServer(server, access),
    audit: (answers) => {
      const [{ requests }] = command('usage') as [{ requests: number }];
      const { held_usd: held } = command('credit', 'show') as { held_usd: string };
      if (requests === answers && Number(held) === 0) return undefined;
      return `${name}: ${answers} answers, but ${requests} requests in the journal and ${held} USD held`;
    },
  };
}

/** A directory that is removed when this process exits. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-bench-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** JSON is valid YAML. */
function configText(port: number, upstreamPort: number, settings: Readonly<Record<string, unknown>>): string {
  const bench = {
    kind: 'openai',
    base_url: `http://127.0.0.1:${upstreamPort}/v1`,
    api_key: 'bench-credential',
    models: { [UPSTREAM_MODEL]: { input: 0.15, cached_input: 0.075, output: 0.6, max_output: 16_384 } },
  };
  const listen = `127.0.0.1:${port}`;
  return JSON.stringify({ listen, state: './bench.db', log: { level: 'warn' }, providers: { bench }, ...settings });
}
