/** Checks in production of conditions that only a bug can violate. */

/** An internal error: an invariant was violated. The message contains the observed values and no secrets. */
export class InvariantError extends Error {
  override name = 'InvariantError';
}

/** Throws an InvariantError unless `condition` holds. `describe` is only called if it does not. */
export function invariant(condition: boolean, describe: () => string): asserts condition {
  if (!condition) throw new InvariantError(describe());
}
