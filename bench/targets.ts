/** What is measured: the upstream itself, the bare proxy, and gateways with a ledger that really works. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UPSTREAM_MODEL } from './payloads.ts';
import { freePort, type Helper, type Started, startServer } from './processes.ts';

/** The two proxies that the gateway is held against: one as most are written, and the least that one can do. */
export const BARE_PROXY = 'bare proxy';
export const BAREST_PROXY = 'barest proxy';
const PROXY_FILES = { [BARE_PROXY]: './bare-proxy.js', [BAREST_PROXY]: './barest-proxy.js' };

/** A table of 100,000 keys is shorter. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Something that answers requests on a port. */
export interface Target {
  readonly name: string;
  readonly port: number;
  readonly key: string;
  /** Undefined for the upstream, which is there for comparison alone. */
  readonly helper: Helper | undefined;
}

/** Something that can be started as often as one likes. */
export interface Server {
  readonly name: string;
  readonly key: string;
  readonly port: number;
  start(): Promise<Started>;
  /** Says what is wrong with the books after so many answers, or nothing. */
  audit(answers: number): string | undefined;
}

export async function proxy(name: keyof typeof PROXY_FILES, upstreamPort: number): Promise<Server> {
  const port = await freePort();
  const key = 'nobody-looks-at-it';
  const directory = temporaryDirectory();
  const file = fileURLToPath(new URL(PROXY_FILES[name], import.meta.url));
  const words = [file, String(port), String(upstreamPort)];
  return {
    name,
    key,
    port,
    start: () => startServer(words, port, key, join(directory, 'stderr.log')),
    audit: () => undefined,
  };
}

export interface GatewayOptions {
  readonly name: string;
  /** The checkout whose `bin/inf-gw.js` is run. */
  readonly checkout: string;
  /** Fields of its config, over those of all. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** A gateway, and its command line. */
export interface GatewayServer extends Server {
  /** Runs a command and gives what it printed. */
  run(...words: string[]): string;
}

/** Sets a gateway up: a config, a key with limits that nobody reaches, and credit. */
export async function gateway(options: GatewayOptions, upstreamPort: number): Promise<GatewayServer> {
  const { name, checkout, settings = {} } = options;
  const program = join(checkout, 'bin', 'inf-gw.js');
  if (!existsSync(join(checkout, 'dist', 'cli', 'main.js'))) throw new Error(`build ${checkout} first: npm run build`);
  const directory = temporaryDirectory();
  const port = await freePort();
  const configPath = join(directory, 'config.yaml');
  writeFileSync(configPath, configText(port, upstreamPort, settings));
  const run = (...words: string[]): string =>
    execFileSync(process.execPath, [program, ...words, '--config', configPath], {
      encoding: 'utf8',
      stdio: 'pipe',
      maxBuffer: MAX_OUTPUT_BYTES,
    });
  const command = (...words: string[]): unknown => JSON.parse(run(...words, '--json'));
  const limits = ['--rpm', '1000000000', '--tpm', '1000000000000', '--concurrency', '100000'];
  const { key } = command('keys', 'create', 'bench', ...limits) as { key: string };
  command('credit', 'add', '1000000');
  return {
    name,
    key,
    port,
    run,
    start: () => startServer([program, 'serve', '--config', configPath], port, key, join(directory, 'stderr.log')),
    audit: (answers) => {
      const [{ requests }] = command('usage') as [{ requests: number }];
      const { held_usd: held } = command('credit', 'show') as { held_usd: string };
      if (requests === answers && Number(held) === 0) return undefined;
      return `${name}: ${answers} answers, but ${requests} requests in the journal and ${held} USD held`;
    },
  };
}

/** A directory that goes with this process, however it ends. */
function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-bench-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** YAML takes JSON as it is. */
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
