/** The end users of a load: how requests name them. */
export const USER_HEADER = 'X-Inf-Gw-User';
const DIGITS = 7;

/** The name of an end user by their number. All have the same length. */
export function userName(user: number): string {
  return `user-${String(user).padStart(DIGITS, '0')}`;
}
