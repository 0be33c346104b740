/**
 * Loaded into every process that is measured: tells what the process has used, when its parent asks over IPC. Plain
 * JavaScript, as the yardstick is: taking types out would count in the start-up time and the memory of a process.
 */
import { isMainThread } from 'node:worker_threads';

if (isMainThread && process.channel) {
  process.on('message', (message) => {
    if (message !== 'usage') return;
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    process.send?.({ cpuMicroseconds: userCPUTime + systemCPUTime, rssBytes: process.memoryUsage.rss() });
  });
  // The process ends when its own work does.
  process.channel.unref();
}
