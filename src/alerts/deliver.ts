/** Delivers an event to a webhook or a command within a time limit. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AlertTarget, CommandTarget } from '../core/alert-targets.ts';
import { replaceUnprintable } from '../core/printable.ts';
import { within } from '../core/within.ts';
import type { Answer } from './event.ts';
import { postTo } from './webhook.ts';

/** Maximum duration of one attempt. */
export const ATTEMPT_MS = 10_000;

/** Delivers an event in JSON. Never rejects. */
export async function deliver(target: AlertTarget, event: string, timeoutMs = ATTEMPT_MS): Promise<Answer> {
  if (target.missingVariable !== undefined) {
    return { isDelivered: false, text: `not sent: the variable ${target.missingVariable} is not set` };
  }
  switch (target.kind) {
    case 'webhook':
      return postTo(target, event, timeoutMs);
    case 'command':
      return runWith(target, event, timeoutMs);
  }
}

/** Maximum length of a command's stderr in the result, in characters. */
const MAX_WORDS = 200;
/** How long to wait for the end of stderr, which background children of the command may keep open. */
const LAST_WORDS_MS = 500;

/** Runs a command with an event in JSON on stdin. Kills its whole process group after the time limit. Never rejects. */
async function runWith({ words }: CommandTarget, event: string, timeoutMs: number): Promise<Answer> {
  const [program = '', ...rest] = words;
  // Detached, so that the command leads its own process group and its children can be killed with it.
  const child = spawn(program, rest, { stdio: ['pipe', 'ignore', 'pipe'], detached: true });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    stderr = (stderr + piece).slice(-MAX_WORDS);
  });
  // EPIPE: the command need not read the event.
  child.stdin.on('error', () => {});
  child.stdin.end(`${event}\n`);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    endGroup(child.pid);
  }, timeoutMs);
  try {
    const [status, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    if (isLate) return { isDelivered: false, text: `not done within ${timeoutMs / 1_000} s` };
    if (status === 0) return { isDelivered: true, text: 'exit status 0' };
    if (!child.stderr.readableEnded) await within(LAST_WORDS_MS, once(child.stderr, 'end'), () => undefined);
    const end = status === null ? `ended by ${signal}` : `exit status ${status}`;
    const words = replaceUnprintable(stderr.trim().replace(/\s+/g, ' '));
    return { isDelivered: false, text: words === '' ? end : `${end}: ${words}` };
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    return { isDelivered: false, text: `${program} cannot be run (${code})` };
  } finally {
    clearTimeout(timer);
    child.stderr.destroy();
  }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // ESRCH: the group has already exited.
  }
}
