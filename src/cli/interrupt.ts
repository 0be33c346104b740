/** Work that Ctrl-C or SIGTERM ends in good order, so that it can remove what it has begun. */
import { UserError } from '../core/errors.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs `work` with a signal that is aborted with a UserError. `outcome`: what an interruption leaves. */
export async function interruptible<T>(outcome: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const interrupt = () => controller.abort(new UserError(`interrupted; ${outcome}`));
  for (const signal of SIGNALS) process.once(signal, interrupt);
  try {
    return await work(controller.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}
