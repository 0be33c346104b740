/** The version of the admission rules, which lets gateways of two program versions on one database decide alike. */

/**
 * Raise this with any change to the outcome of `local/decisions.ts` or of a log entry. While a smaller version is in
 * force, the replica must decide as before: the version rises only when all live gateways support it.
 */
export const RULES = 1;
