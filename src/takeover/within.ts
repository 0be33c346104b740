/** Waiting with a bound. */
import { UserError } from '../core/errors.ts';

/** Rejects with a UserError if the promise takes longer. */
export async function within<T>(milliseconds: number, problem: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new UserError(`${problem} within ${milliseconds / 1000} s`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
