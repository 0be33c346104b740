/** What an idle dashboard uses, and how quickly the screen answers a key press. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { makeLargeState } from '../../bench/scale/large-state.ts';
import { CONFIG, PROGRAM, Workplace } from '../support/cli.ts';
import type { RunScope } from '../support/run-scope.ts';
import { percentile } from '../support/statistics.ts';
import { bounded } from '../support/wait.ts';
import { type Cost, MOST_IDLE_PERCENT, MOST_LATENCY_MS, MOST_MEMORY_MB, MOST_SWITCH_MS } from './costs.ts';
import { cpuMs, memoryMb } from './process.ts';

/** Started by util-linux with its own terminal: prints the pid of the dashboard, then becomes it. */
function commandAt(size: keyof typeof MOST_LATENCY_MS): string {
  const [columns, rows] = size.split('x');
  return `stty cols ${columns} rows ${rows}; echo "pid $$"; exec "${process.execPath}" "${PROGRAM}" tui`;
}

/** A whole minute, since some of what a dashboard reads, it reads once a minute. */
const REST_MS = 60_000;
const MANY_KEYS = 2_000;
/** The least number of presses of a measurement, which ends with a whole round of its keys. */
const PRESSED = 200;
/** Faster than anybody presses keys, slower than the screen answers one. */
const BETWEEN_KEYS_MS = 60;
/** Each changes the screen: moving in the list, sorting, filtering, and other views and back. */
const KEYS = [
  '\u001b[B',
  '\u001b[F',
  '\u001b[H',
  '\u001b[6~',
  '\u001b[A',
  's',
  '/',
  '7',
  '\u007f',
  '\r',
  '3',
  '2',
  '5',
  '1',
  '2',
];

/** From view to view, where each is read anew. */
const SWITCHES = ['4', '2', '5', '3', '6', '1'];
/** A filter of the requests that few rows pass, typed and taken back. */
const TYPED = ['/', ...'cost>1', ...Array<string>(6).fill('\u007f'), '\r'];

/** A dashboard on a state of this size, at rest and answering keys. */
export async function measureKeys(
  scope: RunScope,
  size: {
    readonly keys: number;
    readonly rows: number;
    readonly terminal: keyof typeof MOST_LATENCY_MS;
    readonly mostMemoryMb?: number;
  },
): Promise<Cost[]> {
  const { mostMemoryMb = MOST_MEMORY_MB, terminal: terminalSize } = size;
  const mostLatencyMs = MOST_LATENCY_MS[terminalSize];
  const mostIdlePercent = size.keys < MANY_KEYS ? MOST_IDLE_PERCENT.few : MOST_IDLE_PERCENT.many;
  const place = new Workplace(scope, CONFIG);
  makeLargeState(place.statePath, size, () => {});
  const serving = await place.serve();
  const terminal = spawn('script', ['-qfc', commandAt(terminalSize), '/dev/null'], {
    cwd: place.directory,
    env: { PATH: process.env.PATH, TERM: 'xterm-256color', SHELL: '/bin/sh', LANG: 'C.UTF-8' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  scope.after(() => void terminal.kill('SIGKILL'));
  const pid = await started(terminal);
  await pause(3_000);
  const [cpuBefore, bytes] = [cpuMs(pid), countBytes(terminal)];
  await pause(REST_MS);
  const idle: Cost[] = [
    { what: 'memory at rest', value: memoryMb(pid), unit: 'MB', most: mostMemoryMb },
    { what: 'CPU at rest', value: (100 * (cpuMs(pid) - cpuBefore)) / REST_MS, unit: '%', most: mostIdlePercent },
    { what: 'drawn at rest, a second', value: bytes() / (REST_MS / 1_000), unit: 'B' },
  ];
  terminal.stdin?.write('2');
  await pause(500);
  const moving = await latenciesOf(terminal, 'a key', KEYS, mostLatencyMs);
  const switching = await latenciesOf(terminal, 'a switch of views', SWITCHES, MOST_SWITCH_MS);
  terminal.stdin?.write('4');
  await pause(500);
  const typing = await latenciesOf(terminal, 'a letter of a filter', TYPED, mostLatencyMs);
  const memory = memoryMb(pid);
  terminal.stdin?.write('q');
  await bounded(once(terminal, 'close'), 'the dashboard ends when told to');
  await serving.stop();
  return [
    ...idle,
    ...moving,
    ...switching,
    ...typing,
    { what: 'memory after it', value: memory, unit: 'MB', most: mostMemoryMb },
  ];
}

/** The pid of the dashboard, once it has drawn. */
async function started(terminal: ChildProcess): Promise<number> {
  let text = '';
  for await (const [piece] of onData(terminal)) {
    text += piece;
    if (/1 Overview/.test(text)) break;
  }
  return Number(/pid (\d+)/.exec(text)?.[1]);
}

async function* onData(terminal: ChildProcess): AsyncGenerator<[Buffer]> {
  while (true) yield (await once(terminal.stdout as NonNullable<typeof terminal.stdout>, 'data')) as [Buffer];
}

function countBytes(terminal: ChildProcess): () => number {
  let bytes = 0;
  terminal.stdout?.on('data', (piece: Buffer) => {
    bytes += piece.length;
  });
  return () => bytes;
}

/** Presses these keys in turn, and sums up how long the screen takes to answer each. */
async function latenciesOf(
  terminal: ChildProcess,
  from: string,
  keys: readonly string[],
  most: number,
): Promise<Cost[]> {
  const latencies: number[] = [];
  while (latencies.length < PRESSED) for (const key of keys) latencies.push(await latencyOf(terminal, key));
  const sorted = latencies.toSorted((a, b) => a - b);
  return [
    { what: `from ${from} to the screen, p50`, value: percentile(sorted, 0.5), unit: 'ms' },
    { what: `from ${from} to the screen, p95`, value: percentile(sorted, 0.95), unit: 'ms', most },
    { what: `from ${from} to the screen, max`, value: sorted.at(-1) ?? Number.NaN, unit: 'ms' },
  ];
}

/** Presses a key and waits for the screen to change. */
async function latencyOf(terminal: ChildProcess, key: string): Promise<number> {
  const drawn = once(terminal.stdout as NonNullable<typeof terminal.stdout>, 'data');
  const pressedAtMs = performance.now();
  terminal.stdin?.write(key);
  await bounded(drawn, `the screen answers ${JSON.stringify(key)}`);
  const latencyMs = performance.now() - pressedAtMs;
  await pause(BETWEEN_KEYS_MS);
  return latencyMs;
}
