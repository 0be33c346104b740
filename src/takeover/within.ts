/** Time limits for the steps of a takeover. */
import { UserError } from '../core/errors.ts';
import { within as bounded } from '../core/within.ts';

/** Rejects with a UserError if the promise takes longer. */
export function within<T>(milliseconds: number, problem: string, promise: Promise<T>): Promise<T> {
  return bounded(milliseconds, promise, () => {
    throw new UserError(`${problem} within ${milliseconds / 1000} s`);
  });
}
