/** The number of the rules of admission, by which gateways of two versions on one database decide alike. */

/**
 * Whoever changes what a decision of `local/decisions.ts` or an entry of the log comes to, raises this, and has the replica
 * decide as before while a smaller number is in force: until all gateways that live know the new one.
 */
export const RULES = 1;
