/**
 * Loaded into every process that is measured: tells what the process has used, when its parent asks over IPC. Plain
 * JavaScript, as the yardstick is: taking types out would count in the start-up time and the memory of a process.
 */
import { isMainThread } from 'node:worker_threads';

/** Garbage that happens not to be collected yet would be taken for memory of whatever is counted. */
function collectGarbage() {
  // What the first one only marks as dead, a second one gives back.
  for (let i = 0; i < 2; i++) globalThis.gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

if (isMainThread && process.channel) {
  process.on('message', (message) => {
    if (message !== 'usage' && message !== 'usage at rest') return;
    if (message === 'usage at rest') collectGarbage();
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    process.send?.({ cpuMicroseconds: userCPUTime + systemCPUTime, rssBytes: process.memoryUsage.rss() });
  });
  // The process ends when its own work does.
  process.channel.unref();
}
