/** What came of something that the gateway was asked for. */
import { UserError } from '../core/errors.ts';
import type { Deed } from './deeds.ts';
import type { Event } from './update/step.ts';

/** `ask` returns undefined if there was nothing to act on. `failure` is the title of what it throws. */
export async function answerOf(deed: Deed, failure: string, ask: () => Promise<string | undefined>): Promise<Event> {
  try {
    const text = await ask();
    if (text === undefined) {
      return { kind: 'outcome', text: 'No gateway is running, or the request has already ended.', tone: 'warn' };
    }
    const outcome = { kind: 'outcome', text, tone: 'good' } as const;
    return { kind: 'done', deed, before: undefined, undoes: undefined, atMs: Date.now(), outcome };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { kind: 'failed', title: failure, lines: error.lines };
  }
}
