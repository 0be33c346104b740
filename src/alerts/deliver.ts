/** Delivers an event to a target, in bounded time. */
import type { AlertTarget } from '../core/alert-targets.ts';
import { runWith } from './command.ts';
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
