/** Bounded waiting. */

/** Returns the result of the promise or, after `milliseconds`, the result of `late`, which may throw. */
export async function within<T, Late>(
  milliseconds: number,
  promise: Promise<T>,
  late: () => Late,
): Promise<T | Awaited<Late>> {
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, milliseconds));
  });
  try {
    return await Promise.race([promise, overdue.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
