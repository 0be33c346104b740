/** What must hold once all cases are over: nothing held, nothing left open, and nothing leaked. */

import { answering, completion } from '../support/answers.ts';
import { countHolds } from '../support/books.ts';
import { rawChat } from '../support/place.ts';
import { RawConnection } from '../support/raw.ts';
import { until } from '../support/wait.ts';
import { CALM_MODEL, descriptorsLeft, type FuzzSite, SLOTS, secretsOf } from './site.ts';

export interface Aftermath {
  readonly openHolds: number;
  /** Compared with the start. */
  readonly descriptors: number;
  readonly journalRows: number;
  readonly deviations: readonly string[];
}

/** The internal errors in a log. */
const MOST_LINES = 5;

/** Checks the gateway, and stops it. */
export async function aftermathOf(fuzz: FuzzSite): Promise<Aftermath> {
  const { place } = fuzz;
  const deviations: string[] = [];
  const check = (holds: boolean, otherwise: string) => {
    if (!holds) deviations.push(otherwise);
  };
  await until(() => countHolds(place.database) === 0).catch(() => {});
  const openHolds = countHolds(place.database);
  check(openHolds === 0, `${openHolds} holds are open`);
  check((await place.snapshot()).in_flight === 0, 'a request is still in flight');
  for (const key of fuzz.keys) {
    const slots = await freeSlots(fuzz, key);
    check(slots === SLOTS, `${slots} of ${SLOTS} slots of a key are free`);
  }
  const descriptors = await descriptorsLeft(fuzz);
  check(descriptors <= 0, `${descriptors} descriptors more than at the start`);
  const { status, stdout, stderr } = await place.run(['audit']);
  check(status === 0, `the audit: ${stdout}${stderr}`);
  check((await place.snapshot()).pid === fuzz.pid, 'another process serves');
  check((await place.serving.stop()) === 0, 'the process did not exit cleanly');
  place.assertSettled();
  deviations.push(...logProblems(fuzz));
  const journalRows = place.database.prepare('SELECT count(*) FROM journal').pluck().get() as number;
  return { openHolds, descriptors, journalRows, deviations };
}

/**
 * Sends as many requests as a key may have at once, with all of them at the host at the same time.
 */
async function freeSlots({ place }: FuzzSite, key: FuzzSite['keys'][number]): Promise<number> {
  const release = place.upstream.followLater(answering(completion('hi')));
  const connections = await Promise.all(Array.from({ length: SLOTS }, () => RawConnection.open(place.port)));
  for (const connection of connections) connection.send(rawChat(key, { model: CALM_MODEL }));
  const answers = connections.map((connection) => connection.answer());
  await place.upstream.call(SLOTS).catch(() => {});
  release();
  const served = (await Promise.all(answers)).filter(({ status }) => status === 200);
  for (const connection of connections) connection.leave();
  return served.length;
}

function logProblems(fuzz: FuzzSite): string[] {
  const { text } = fuzz.place.serving;
  const secrets = [...secretsOf(fuzz), fuzz.secrets.calm, fuzz.secrets.wild];
  const leaked = secrets.filter((secret) => text.includes(secret));
  const lines = text.split('\n');
  const problems = lines.filter((line) => /internal error|"level":"(?:error|fatal)"/.test(line));
  return [
    ...leaked.map((secret) => `the log contains ${secret}: ${lines.find((line) => line.includes(secret))}`),
    ...problems.slice(0, MOST_LINES).map((line) => `the log says ${line.slice(0, 1_000)}`),
  ];
}
