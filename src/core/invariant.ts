/** Checks, in production, of what only a bug can make false. */

/**
 * An internal error: something that must never happen has happened. The message says what was seen;
 * no secrets.
 */
export class InvariantError extends Error {
  override name = 'InvariantError';
}

/** Throws an InvariantError unless `condition` holds. `describe` is only called if it does not. */
export function invariant(condition: boolean, describe: () => string): asserts condition {
  if (!condition) throw new InvariantError(describe());
}
