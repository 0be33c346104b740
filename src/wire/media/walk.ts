/** Bounds the walk over the pieces of a file: its sender chooses how many there are, and others wait meanwhile. */

/** Eleven hours of sound in packets of 20 ms, and half a second of work. */
export const MAX_PIECES = 2_000_000;
/** The seconds of a file that has more: nobody knows what is in the rest. */
export const TOO_MANY_PIECES = Number.POSITIVE_INFINITY;
