/**
 * The search for secrets after the whole matrix of upstream failures: `npm run test:secrets`. Exits with 1 if it finds one,
 * or misses one in a program that leaks them.
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
  const sound = await search(scope, cellsFor(['stays', 'leaves', 'leaves in the same moment']), false);
  show('as it is', sound);
  const exposed = await search(scope, [], true);
  show('giving them away', exposed);
  const leaks = [...sound.found].flatMap(([place, names]) => names.map((name) => `${name} in ${place}`));
  const deviations = [...leaks, ...notFound(exposed.found)];
  for (const text of deviations) console.error(text);
  console.log(`${deviations.length} deviations`);
  process.exitCode = deviations.length === 0 ? 0 : 1;
} finally {
  await scope.end();
}
