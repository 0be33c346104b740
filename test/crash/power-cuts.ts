/**
 * Cuts the power under load, again and again: what was written and not synced is lost. What clients
 * had seen must be in the file all the same.
 */
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Random } from '../support/random.ts';
import { until } from '../support/wait.ts';
import type { Site } from './cycles.ts';
import { Load, type Sent } from './load.ts';
import { PATIENT_SERVE } from './patient-serve.ts';
import { drawPlan } from './plan.ts';
import { auditDifferences, type Row, readState } from './state-file.ts';
import { SYNCED_LOG } from './synced-log.ts';
import { faultOfRow, wasRefused } from './verdicts.ts';

const SERVE = ['--import', fileURLToPath(new URL('./synced-log.ts', import.meta.url)), ...PATIENT_SERVE];
/** A gateway runs until so many answers have ended, and for up to so long after that. */
const ANSWERS = 12;
const EXTRA_MS = 100;

export interface PowerCuts {
  /** Requests of which a client had seen the end, or the beginning. */
  readonly ended: number;
  readonly begun: number;
  /** Commits that a cut took with it, by their rows and holds. */
  readonly lost: number;
  readonly deviations: readonly string[];
}

export async function cutThePower(site: Site, random: Random, cuts: number): Promise<PowerCuts> {
  const { place, host, plans, secrets } = site;
  const [file, log, synced] = [place.statePath, `${place.statePath}-wal`, join(place.directory, SYNCED_LOG)];
  const deviations: string[] = [];
  let [ended, begun, lost, marker] = [0, 0, 0, 0];
  for (let cut = 1; cut <= cuts; cut++) {
    const report = (text: string) => deviations.push(`cut ${cut}: ${text}`);
    host.forget();
    plans.clear();
    const serving = await place.serve(SERVE);
    // No checkpoint comes in so short a life, so the file itself stays as it is.
    copyFileSync(file, `${file}-before`);
    copyFileSync(log, synced);
    let ordinal = 0;
    const load = new Load(serving, secrets, () => {
      const plan = drawPlan(++marker, ordinal++, random);
      plans.set(plan.marker, plan);
      return plan;
    });
    await until(() => load.sent.filter(({ answer }) => answer !== undefined).length >= ANSWERS);
    await pause(random.between(0, EXTRA_MS));
    load.stop();
    serving.signal('SIGKILL');
    await Promise.all([serving.ended, load.ended]);
    const written = requestsIn(file);
    copyFileSync(`${file}-before`, file);
    copyFileSync(synced, log);
    rmSync(`${file}-shm`, { force: true });

    for (const problem of auditDifferences(file)) report(problem);
    const left = requestsIn(file);
    lost += [...written.keys()].filter((id) => !left.has(id)).length;
    for (const request of load.sent) {
      const { requestId, answer, plan } = request;
      if (requestId === undefined || wasRefused(request)) continue;
      if (answer === undefined) begun++;
      else ended++;
      const problem = problemOf(request, left.get(requestId));
      if (problem !== undefined) report(`request ${plan.marker} (${plan.kind}): ${problem}`);
    }
  }
  return { ended, begun, lost, deviations };
}

/** What is wrong with what a cut left of a request of which its client saw something. */
function problemOf(request: Sent, row: Row | 'open' | undefined): string | undefined {
  if (row === undefined) return 'it is lost, and its client saw an answer';
  if (row !== 'open') return faultOfRow(request, row, undefined);
  return request.answer === undefined ? undefined : 'its charge is lost, and its client saw the end';
}

/** Every request of the file: its row, or that it is open. */
function requestsIn(path: string): ReadonlyMap<string, Row | 'open'> {
  const { journal, holds } = readState(path);
  const open = [...holds.keys()].map((id) => [id, 'open'] as const);
  return new Map<string, Row | 'open'>([...open, ...journal.map((row) => [row.request_id, row] as const)]);
}
