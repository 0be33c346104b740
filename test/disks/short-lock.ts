/**
 * A lock that another program holds for a moment: requests wait for it, and no storage fault is
 * reported.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { auditDifferences } from '../crash/state-file.ts';
import { lock } from './faults.ts';
import type { Site } from './site.ts';

const REQUESTS = 8;
/** The time between two probes of the gateway. */
const PROBE_MS = 10;

export interface ShortLock {
  readonly deviations: readonly string[];
  readonly slowestAnswerMs: number;
  readonly slowestHealthMs: number;
  readonly loopDelayMs: number;
}

/** Sends requests while the lock is held for that long, and checks how they end. */
export async function waitOutLock(site: Site, milliseconds: number): Promise<ShortLock> {
  const deviations: string[] = [];
  const running = [await site.hold(true), await site.hold(false)];
  await site.loopDelayMs();
  const release = lock(site);
  const released = pause(milliseconds).then(release);
  const asked = Promise.all(Array.from({ length: REQUESTS }, () => site.ask()));
  for (const one of running) {
    await one.goOn('second');
    one.finish();
  }
  let isOver = false;
  void released.then(() => {
    isOver = true;
  });
  let slowestHealthMs = 0;
  while (!isOver) {
    const answers = [await site.get('/healthz'), await site.get('/readyz')];
    for (const { status, text, ms } of answers) {
      if (status !== 200) deviations.push(`a probe is answered with ${status} ${text}`);
      slowestHealthMs = Math.max(slowestHealthMs, ms);
    }
    await pause(PROBE_MS);
  }
  const answers = await asked;
  await Promise.all(running.map(({ ended }) => ended));
  const statuses = [...answers, ...running].map(({ status }) => status);
  if (statuses.some((status) => status !== 200)) deviations.push(`the answers are ${statuses.join()}`);
  const loopDelayMs = await site.loopDelayMs();
  await site.serving.stop();
  const problems = site.serving.log.filter(({ level }) => level === 'error' || level === 'warn');
  deviations.push(...problems.map(({ msg }) => `the log says: ${msg}`));
  deviations.push(...auditDifferences(site.statePath));
  const slowestAnswerMs = Math.max(...answers.map(({ ms }) => ms));
  return { deviations, slowestAnswerMs, slowestHealthMs, loopDelayMs };
}
