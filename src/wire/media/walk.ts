/** Bounds the walk over the pieces of a file: its sender chooses how many there are, and others wait meanwhile. */

/** Eleven hours of sound in packets of 20 ms, and half a second of work. A file with more pieces is not understood. */
export const MAX_PIECES = 2_000_000;
