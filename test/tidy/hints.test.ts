/** Messages name commands by `program`, which adds the `-c` of the command that prints them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourcesIn } from '../support/sources.ts';

/** Texts that no command prints for its operator, so they have no `-c`. */
const EXEMPT = [
  // Clients read these, and must not learn the paths of the operator.
  'src/proxy/refusals.ts',
  // Comments in files that the program writes, and pages that are printed from the code.
  'src/config/example.ts',
  'src/config/price-list/write.ts',
  'src/metrics/metrics.ts',
  'src/cli/completion/',
  // The functions themselves, and a title.
  'src/core/program.ts',
  'src/cli/watch.ts',
];
const COMMENT = /^\s*(?:\*|\/\/|\/\*)/;
/** A command that is written out: in backquotes, or after a colon at the end of a sentence. */
const WRITTEN_OUT = /(?:`|: )inf-gw (?!needs)[a-z]|\$\{PROGRAM\} /;
/** Loaded before the command line is read. A thread is loaded after it. */
const TOO_EARLY = /^(?:export )?const [^=]*= [^(=]*\$\{program\(/;

const lines = sourcesIn('src/**/*.{ts,tsx}')
  .filter(({ path }) => !EXEMPT.some((each) => path.startsWith(each)))
  .flatMap(({ path, text }) => text.split('\n').map((line) => ({ path, line })))
  .filter(({ line }) => !COMMENT.test(line) && !line.includes('Example'));

test('no message writes a command out', () => {
  const found = lines.filter(({ line }) => WRITTEN_OUT.test(line));
  assert.deepEqual(found, []);
});

test('no constant of a module names a command: it would not know the -c yet', () => {
  const found = lines.filter(({ path, line }) => path !== 'src/alerts/thread.ts' && TOO_EARLY.test(line));
  assert.deepEqual(found, []);
});
