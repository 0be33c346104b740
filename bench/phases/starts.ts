/** The time from the start of each server to its first 200, and its memory while idle. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Shape } from '../rows.ts';
import type { Bench } from './bench.ts';

/** Long enough for a new process to become idle. */
const IDLE_MS = 300;
const BYTES_PER_MB = 1024 * 1024;

export const PROCESS = 'process';
export const START: Shape = { label: 'start to first 200, ms', digits: 0, shows: 'value' };
export const IDLE_MEMORY: Shape = { label: 'idle memory, MB', digits: 0, shows: 'value' };

export async function measureStarts(bench: Bench): Promise<void> {
  const { rows, servers, lengths } = bench;
  for (let round = 0; round < lengths.starts; round++) {
    bench.report(`starts, ${round + 1} of ${lengths.starts}`);
    for (const server of bench.inTurn(servers, round)) {
      const { process, startUpMs } = await bench.start(server);
      await pause(IDLE_MS);
      const { rssBytes } = await process.usage();
      await process.stop();
      rows.add(PROCESS, START, server.name, startUpMs);
      rows.add(PROCESS, IDLE_MEMORY, server.name, rssBytes / BYTES_PER_MB);
    }
  }
}
