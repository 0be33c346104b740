/**
 * The auditor, for files that a gateway in this process has open. It runs in a process of its own:
 * two copies of SQLite in one process do not see each other's locks, and the second would reset the
 * shared memory of the first.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { auditDatabase, type Check } from '../../src/audit/audit.ts';
import type { Run } from '../../src/state/postgres/database.ts';

const SCRIPT = fileURLToPath(new URL('./auditor-process.ts', import.meta.url));

let child: ChildProcess | undefined;
/** Answers one question at a time. */
let last: Promise<unknown> = Promise.resolve();

/** Audits a file, which a gateway may be using. */
export function auditElsewhere(path: string): Promise<Check[]> {
  const answer = last.then(() => ask(path));
  last = answer.catch(() => {});
  return answer;
}

/**
 * What the auditor finds in a shared state that does not agree, by queries that all see one moment. Which months have a
 * partition is left out: they are those of the real clock.
 */
export async function readDifferences(run: Run): Promise<string[]> {
  const checks = await auditDatabase(run, { onProgress: () => {} });
  return checks.flatMap(({ name, differences }) => (name === 'partitions' ? [] : differences));
}

async function ask(path: string): Promise<Check[]> {
  child ??= start();
  const gone = new AbortController();
  const onExit = () => gone.abort();
  child.once('exit', onExit).ref();
  child.send(path);
  try {
    const [checks] = (await once(child, 'message', { signal: gone.signal })) as [Check[]];
    return checks;
  } finally {
    child.off('exit', onExit);
    // It must not keep the test process running.
    child.unref();
  }
}

function start(): ChildProcess {
  const started = fork(SCRIPT);
  started.channel?.unref();
  process.once('exit', () => started.kill());
  return started;
}
