/**
 * The gateway of the README's picture: a real one in a folder of its own, whose providers are mocks and whose clients send for
 * some minutes.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/config/load.ts';
import { readSnapshot } from '../src/control/client.ts';
import { type Snapshot, socketPathOf } from '../src/control/protocol.ts';
import { MOST_FIRST_BYTE_STEPS } from '../src/observe/first-bytes.ts';
import type { Stored } from '../src/tui/model.ts';
import { Store } from '../src/tui/store.ts';

/** Longer than the five minutes that the picture shows. */
const RECORDED_MS = 400_000;
/** Clients send on while it is read. */
const READING_MS = 10_000;
/** Before the end: from then on a provider refuses its key. */
const FAILING_MS = 110_000;
/** How often the traffic rises and falls, and by how much. */
const WAVE_MS = 170_000;
const WAVE = 0.4;
const PROGRAM = fileURLToPath(new URL('../bin/inf-gw.js', import.meta.url));

const CONFIG = `listen: 127.0.0.1:0
state: ./inf-gw.db
tier: standard
log: { level: error }
tiers:
  standard: { rpm: 600, tpm: 2000000, concurrency: 60 }
providers:
  openai: { kind: mock, models: { gpt-5: { input: 1.25, output: 10 }, gpt-4o-mini: { input: 0.15, output: 0.60 } } }
  anthropic: { kind: mock, models: { claude-sonnet-5: { input: 3, output: 15 } } }
  groq: { kind: mock, models: { llama-4: { input: 0.59, output: 0.79 } } }
  mistral: { kind: mock, models: { mistral-large: { input: 2, output: 6 } } }
`;

const KEYS: Readonly<Record<string, readonly string[]>> = {
  'support-bot': ['--spend-limit', '200'],
  'web-shop': [],
  search: [],
  'laptop-anna': ['--rpm', '60', '--budget', 'week=20'],
  'nightly-reports': ['--rpm', '60'],
  'batch-summarizer': ['--budget', 'day=0.10'],
};

/** What a client asks, and how often on average. */
interface Client {
  readonly key: keyof typeof KEYS;
  readonly model: string;
  readonly everyMs: number;
  /** What the mock is told, with a first byte between these two. */
  readonly delaysMs: readonly [least: number, most: number];
  readonly says: string;
  /** Whether its provider fails in the end. */
  readonly fails?: true;
}

const CLIENTS: readonly Client[] = [
  { key: 'support-bot', model: 'anthropic/claude-sonnet-5', everyMs: 900, delaysMs: [500, 2_000], says: '/words 150' },
  { key: 'web-shop', model: 'openai/gpt-5', everyMs: 350, delaysMs: [200, 700], says: '/words 60' },
  { key: 'search', model: 'groq/llama-4', everyMs: 500, delaysMs: [60, 300], says: '/words 100' },
  { key: 'laptop-anna', model: 'openai/gpt-5', everyMs: 3_500, delaysMs: [300, 600], says: '/pace 30ms /words 200' },
  { key: 'laptop-anna', model: 'mistral/mistral-large', everyMs: 5_000, delaysMs: [200, 600], says: '', fails: true },
  { key: 'nightly-reports', model: 'openai/gpt-4o-mini', everyMs: 1_000, delaysMs: [300, 500], says: '/words 30' },
  { key: 'batch-summarizer', model: 'openai/gpt-5', everyMs: 2_000, delaysMs: [300, 900], says: '/words 300' },
];

/** The data of a dashboard. */
export interface Recording {
  readonly snapshot: Snapshot;
  readonly stored: Stored;
}

/** Runs the gateway and its clients, and returns the data of a dashboard before they end. */
export async function runDemo(): Promise<Recording> {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-demo-'));
  const path = join(directory, 'config.yaml');
  writeFileSync(path, CONFIG);
  const stdio = ['ignore', 'ignore', 'inherit'] as const;
  const gateway = spawn(process.execPath, [PROGRAM, 'serve', '--config', path], { stdio: [...stdio] });
  try {
    return await record(gateway, path, directory);
  } finally {
    const ended = once(gateway, 'close');
    if (gateway.kill()) await ended;
    rmSync(directory, { recursive: true });
  }
}

async function record(gateway: ChildProcess, path: string, directory: string): Promise<Recording> {
  const config = loadConfig({ path, environment: {}, directory });
  const snapshotOf = () =>
    readSnapshot(socketPathOf(config), {
      maxLive: 0,
      maxEnded: 0,
      firstByteSteps: MOST_FIRST_BYTE_STEPS,
      minutesSinceS: 0,
    });
  const { address } = await started(gateway, snapshotOf);
  run(path, 'credit', 'add', '10');
  const keys = new Map(
    Object.entries(KEYS).map(([name, terms]) => [name, run(path, 'keys', 'create', name, ...terms)]),
  );
  const endMs = Date.now() + RECORDED_MS + READING_MS;
  const sending = CLIENTS.map((client) => send(client, `http://${address}`, keys.get(client.key) ?? '', endMs));
  await pause(RECORDED_MS);
  const store = await Store.open(config, true);
  const stored = await store.read(Date.now());
  const snapshot = await snapshotOf();
  await store.close();
  if (snapshot === undefined) throw new Error('the gateway has ended');
  await Promise.all(sending);
  // The picture must not show the paths of this machine.
  const [configPath, statePath] = ['/etc/inf-gw/config.yaml', '/var/lib/inf-gw/inf-gw.db'];
  const shown = { ...snapshot, address: '127.0.0.1:8787', config_path: configPath, state_path: statePath };
  return { snapshot: shown, stored: { ...stored, configPath, statePath } };
}

async function started(gateway: ChildProcess, snapshotOf: () => Promise<Snapshot | undefined>): Promise<Snapshot> {
  while (gateway.exitCode === null) {
    const snapshot = await snapshotOf();
    if (snapshot !== undefined) return snapshot;
    await pause(100);
  }
  throw new Error('the gateway does not start');
}

/** What a command prints on a pipe. */
function run(path: string, ...words: readonly string[]): string {
  const stdio = ['ignore', 'pipe', 'ignore'] as const;
  return execFileSync(process.execPath, [PROGRAM, ...words, '--config', path], { stdio: [...stdio] })
    .toString()
    .trim();
}

/** Sends until the end. Answers are awaited only there: a slow provider does not slow its clients. */
async function send(client: Client, origin: string, key: string, endMs: number): Promise<void> {
  const answers: Promise<unknown>[] = [];
  for (let nowMs = Date.now(); nowMs < endMs; nowMs = Date.now()) {
    answers.push(ask(client, origin, key, client.fails === true && nowMs > endMs - FAILING_MS));
    const wave = 1 + WAVE * Math.sin((2 * Math.PI * (endMs - nowMs)) / WAVE_MS);
    await pause((client.everyMs * (0.5 + Math.random())) / wave);
  }
  await Promise.all(answers);
}

async function ask({ model, delaysMs, says }: Client, origin: string, key: string, isFailing: boolean): Promise<void> {
  const [least, most] = delaysMs;
  const delayMs = Math.round(least + Math.random() * (most - least));
  const content = `/delay ${delayMs}ms ${isFailing ? '/error 401' : says}`;
  const answer = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content }] }),
  });
  await answer.arrayBuffer();
}
