/** Bounds the walk over the pieces of a file: its sender controls their number, and other requests wait. */

/** Eleven hours of audio in packets of 20 ms, and half a second of work. A file with more pieces has an unknown length. */
export const MAX_PIECES = 2_000_000;
