/** Every place where a secret could be left: what the process wrote, keeps, shows and reports. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSnapshot } from '../../src/control/client.ts';
import { socketPathOf } from '../../src/control/protocol.ts';
import type { Serving, Workplace } from '../support/cli.ts';

/** Bytes, by the place that they were found in. */
export type Places = ReadonlyMap<string, Buffer>;

/** The output of the commands while the gateway runs. */
const COMMANDS: readonly (readonly string[])[] = [
  ['keys', 'list', '--json'],
  ['keys', 'list'],
  ['requests', '--limit', '100000', '--json'],
  ['requests', '--limit', '100000'],
  ['usage', '--by', 'model', '--json'],
  ['models', '--json'],
  ['credit', 'history', '--json'],
  ['config', 'check'],
  ['status', '--json'],
];

/**
 * Collects the bytes of all places, except `ownFiles`: the operator wrote the secrets into those.
 */
export async function searchedPlaces(
  workplace: Workplace,
  serving: Serving,
  ownFiles: readonly string[],
): Promise<Places> {
  const places = new Map<string, Buffer>();
  const snapshot = await readSnapshot(
    socketPathOf({ state: { kind: 'file', path: workplace.statePath }, node: 'any' }),
  );
  if (snapshot === undefined) throw new Error('the control socket does not answer');
  places.set('control socket', Buffer.from(JSON.stringify(snapshot)));
  for (const [number, { status, stdout, stderr }] of (await workplace.runAll(COMMANDS)).entries()) {
    const name = `inf-gw ${COMMANDS[number]?.join(' ')}`;
    if (status !== 0) throw new Error(`${name}: ${stderr}`);
    places.set(name, Buffer.from(stdout + stderr));
  }
  for (const [name, bytes] of processesOf(serving.pid)) places.set(name, bytes);
  // This includes the write-ahead log beside the file while the gateway runs.
  for (const entry of readdirSync(workplace.directory, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() && !ownFiles.includes(entry.name)) {
      places.set(`file ${entry.name}`, readFileSync(join(entry.parentPath, entry.name)));
    }
  }
  places.set('log', Buffer.from(serving.text));
  places.set('stdout', Buffer.from(serving.output));
  return places;
}

/**
 * What other users of the machine can see of the process, and what its children inherit. Its own
 * environment is private.
 */
function processesOf(pid: number): [name: string, bytes: Buffer][] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) => childrenOf(pid, thread));
  return [
    ['command line', readFileSync(`/proc/${pid}/cmdline`)],
    ...children.flatMap((child): [string, Buffer][] => [
      [`command line of child ${child}`, readFileSync(`/proc/${child}/cmdline`)],
      [`environment of child ${child}`, readFileSync(`/proc/${child}/environ`)],
    ]),
  ];
}

function childrenOf(pid: number, thread: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean);
  } catch {
    return []; // The thread has ended meanwhile.
  }
}
