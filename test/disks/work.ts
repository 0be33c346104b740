/** The cases of the long run, each on a gateway of its own. */
import { RunScope } from '../support/run-scope.ts';
import type { Fault } from './faults.ts';
import { mountDisk } from './real-disks.ts';
import type { Result, Work } from './rows.ts';
import { waitOutLock } from './short-lock.ts';
import { Site } from './site.ts';
import { Trial } from './trial.ts';

function onSite(work: (site: Site) => Promise<Result>, fault?: Fault): Work {
  return async () => {
    const scope = new RunScope();
    try {
      const site = await Site.open(scope);
      if (fault?.hasOwnDisk) mountDisk(site, scope);
      await site.prepare();
      return await work(site);
    } finally {
      await scope.end();
    }
  };
}

/** Another program locks the file for a moment. */
export function waited(milliseconds: number): Work {
  return onSite(async (site) => {
    await site.start();
    const { deviations, ...figures } = await waitOutLock(site, milliseconds);
    return { figures, deviations };
  });
}

/** The fault begins, lasts, and is repaired. */
export function suffered(fault: Fault, lastsMs?: number): Work {
  return onSite(async (site) => {
    await site.start();
    return new Trial(site, fault).run(lastsMs);
  }, fault);
}

/** The gateway is stopped during the fault. */
export function toTheEnd(fault: Fault): Work {
  return onSite(async (site) => {
    await site.start();
    return new Trial(site, fault).runToEnd();
  }, fault);
}

/** The fault exists before the gateway starts. */
export function refusedStart(fault: Fault): Work {
  return onSite(async (site) => {
    const startedAtMs = performance.now();
    const repair = fault.harm(site);
    const { status, errors } = await site.tryToStart().finally(repair);
    const endMs = performance.now() - startedAtMs;
    const deviations: string[] = [];
    if (status !== 1 || errors.length !== 1 || !fault.message.test(errors[0] ?? '')) {
      deviations.push(`it ended with status ${status} and says ${errors.join(' | ')}`);
    }
    const repaired = await site.tryToStart();
    if (repaired.status !== 'serves') deviations.push(`after it, it does not start: ${repaired.errors.join(' | ')}`);
    return { figures: { endMs }, deviations };
  }, fault);
}
