/**
 * The auditor, for files that a gateway in this process has open. It runs in a process of its own: two copies of SQLite
 * in one do not see each other's locks, and the second takes the first one's shared memory away from under it.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Check } from '../../src/audit/audit.ts';

const SCRIPT = fileURLToPath(new URL('./auditor-process.ts', import.meta.url));

let child: ChildProcess | undefined;
/** One question at a time. */
let last: Promise<unknown> = Promise.resolve();

/** What the auditor finds in a file, also while a gateway uses it. */
export function auditElsewhere(path: string): Promise<Check[]> {
  const answer = last.then(() => ask(path));
  last = answer.catch(() => {});
  return answer;
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
    // It must not keep the tests from ending.
    child.unref();
  }
}

function start(): ChildProcess {
  const started = fork(SCRIPT);
  started.channel?.unref();
  process.once('exit', () => started.kill());
  return started;
}
