/**
 * Loaded into `serve` before the program: on SIGUSR2 it collects garbage and writes a JSON file
 * into its directory, with the memory of the main thread and the delay of its event loop since the
 * last time.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';
import { GAUGE_FILE, type Reading } from './gauge.ts';

const LOOP_RESOLUTION_MS = 5;
const NANOS_PER_MS = 1e6;
const COLLECTIONS = 3;

function tell(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const delays = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  delays.enable();
  process.on('SIGUSR2', async () => {
    const loop = { p99Ms: delays.percentile(99) / NANOS_PER_MS, mostMs: delays.max / NANOS_PER_MS };
    // Memory of buffers is freed after a collection, so a second one follows.
    for (let i = 0; i < COLLECTIONS; i++) {
      collect();
      await turn();
    }
    // The last turn has read from the sockets. A collection completes the sweep of the one before.
    collect();
    collect();
    const { heapUsed, external, arrayBuffers } = process.memoryUsage();
    const reading: Reading = { heapBytes: heapUsed, externalBytes: external, bufferBytes: arrayBuffers, loop };
    writeFileSync(`${GAUGE_FILE}-new`, JSON.stringify(reading));
    renameSync(`${GAUGE_FILE}-new`, GAUGE_FILE);
    // The delay that these collections cause is not the program's.
    await pause(2 * LOOP_RESOLUTION_MS);
    delays.reset();
  });
}

if (isMainThread) tell();
