/**
 * The search for secrets after the whole matrix of upstream failures: `npm run test:secrets`. Exits
 * with 1 if it finds one, or misses one in a program that leaks them.
 */
import { cellsFor } from '../faults/table.ts';
import { RunScope } from '../support/run-scope.ts';
import { notFound, type Search, search } from './trial.ts';

function show(title: string, { found, bytes, requests }: Search): void {
  console.log(`${title}: ${requests.toLocaleString('en')} answers, ${bytes.toLocaleString('en')} bytes in all`);
  for (const [place, names] of found) console.log(`  ${place.padEnd(42)}${String(names.length).padStart(4)} secrets`);
}

const scope = new RunScope();
try {
  const asItIs = await search(scope, cellsFor(['stays', 'leaves', 'leaves in the same moment']), 'as it is');
  show('as it is', asItIs);
  const exposed = await search(scope, [], 'exposed');
  show('exposed', exposed);
  const leaks = [...asItIs.found].flatMap(([place, names]) => names.map((name) => `${name} in ${place}`));
  const deviations = [...leaks, ...notFound(exposed.found)];
  for (const text of deviations) console.error(text);
  console.log(`${deviations.length} deviations`);
  process.exitCode = deviations.length === 0 ? 0 : 1;
} finally {
  await scope.end();
}
