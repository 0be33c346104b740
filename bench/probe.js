/**
 * Loaded into every measured process: reports its resource usage when the parent asks over IPC.
 * Plain JavaScript, like the baseline: stripping types would count towards the start-up time and
 * the memory of a process.
 */
import { isMainThread } from 'node:worker_threads';

/** Garbage that is not collected yet must not count as memory in use. */
function collectGarbage() {
  // The first collection only marks some objects; the second frees them.
  for (let i = 0; i < 2; i++) globalThis.gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

if (isMainThread && process.channel) {
  process.on('message', (message) => {
    if (message !== 'usage' && message !== 'usage after gc') return;
    if (message === 'usage after gc') collectGarbage();
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    process.send?.({ cpuMicroseconds: userCPUTime + systemCPUTime, rssBytes: process.memoryUsage.rss() });
  });
  // The channel must not keep the process running.
  process.channel.unref();
}
