/** What this program is called where it was started, and its version. */
import { readFileSync } from 'node:fs';

/** As package.json has it. */
export const VERSION: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

/** How the program is typed: in a checkout, and so under npm's own commands, it is not on the path. */
export const PROGRAM = process.env.npm_lifecycle_event === undefined ? 'inf-gw' : 'npx inf-gw';
