/**
 * Makes a large state file for experiments: `npm run make:large-state -- --path FILE [--keys N]
 * [--rows N]`.
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { makeLargeState } from './large-state.ts';
import { showProgress } from './progress.ts';

const { values } = parseArgs({
  options: {
    path: { type: 'string' },
    keys: { type: 'string', default: '100000' },
    rows: { type: 'string', default: '10000000' },
  },
});
if (values.path === undefined || existsSync(values.path)) {
  console.error('error: name a file that does not exist yet with --path');
  process.exitCode = 2;
} else {
  makeLargeState(values.path, { keys: Number(values.keys), rows: Number(values.rows) }, showProgress);
}
