/** Delivers an event to a target, in bounded time. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AlertTarget, CommandTarget } from '../core/alert-targets.ts';
import { replaceUnprintable } from '../core/printable.ts';
import { within } from '../core/within.ts';
import type { Answer } from './event.ts';
import { postTo } from './webhook.ts';

/** How long one attempt may take. */
export const ATTEMPT_MS = 10_000;

/** Never rejects. `event` is JSON. */
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

/** How much is kept of what a command says on stderr, in characters. */
const MAX_WORDS = 200;
/** How long to wait for its last words: what it has left behind may keep the pipe open. */
const LAST_WORDS_MS = 500;

/** Runs it with an event, given as JSON. Never rejects. What it has started itself ends with it. */
async function runWith({ words }: CommandTarget, event: string, timeoutMs: number): Promise<Answer> {
  const [program = '', ...rest] = words;
  // A group of its own, so that a shell's children can be ended as well.
  const child = spawn(program, rest, { stdio: ['pipe', 'ignore', 'pipe'], detached: true });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    said = (said + piece).slice(-MAX_WORDS);
  });
  // It need not read the event.
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
    const words = replaceUnprintable(said.trim().replace(/\s+/g, ' '));
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
    // It has just ended.
  }
}
