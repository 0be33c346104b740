/** The version of this program, and how to type its name. */
import { readFileSync } from 'node:fs';

/** The version in package.json. */
export const VERSION: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

/**
 * The command for this program. Under `npm start` and the like it runs from a checkout, so it is
 * not on the PATH.
 */
export const PROGRAM = process.env.npm_lifecycle_event === undefined ? 'inf-gw' : 'npx inf-gw';
