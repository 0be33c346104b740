/**
 * Loaded into `serve` before the program itself: on SIGUSR2 it collects garbage and writes down in its folder, as JSON, what memory
 * its main thread uses and how late its event loop was since the last time.
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
    // What buffers held is given back behind a collection: the next one waits for it.
    for (let i = 0; i < COLLECTIONS; i++) {
      collect();
      await turn();
    }
    const { heapUsed, external, arrayBuffers } = process.memoryUsage();
    const reading: Reading = { heapBytes: heapUsed, externalBytes: external, bufferBytes: arrayBuffers, loop };
    writeFileSync(`${GAUGE_FILE}-new`, JSON.stringify(reading));
    renameSync(`${GAUGE_FILE}-new`, GAUGE_FILE);
    // The collections have held up the loop: that is not the program's doing.
    await pause(2 * LOOP_RESOLUTION_MS);
    delays.reset();
  });
}

if (isMainThread) tell();
