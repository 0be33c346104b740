/**
 * Measures what the dashboard costs: `npm run test:dashboard [-- --rounds N] [--only TEXT]`. Runs
 * it on a real terminal beside a gateway under full load, with few keys and with many. Exits with
 * status 1 if it costs more than it may.
 */
import { parseArgs } from 'node:util';
import { RunScope } from '../support/run-scope.ts';
import type { Cost } from './costs.ts';
import { measureKeys } from './keys.ts';
import { measureLoad } from './load.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '10' }, only: { type: 'string', default: '' } },
});
const PARTS: Readonly<Record<string, (scope: RunScope, rounds: number) => Promise<Cost[]>>> = {
  load: measureLoad,
  'few keys': (scope) => measureKeys(scope, 10),
  'many keys': (scope) => measureKeys(scope, 10_000),
};
const scope = new RunScope();
let isTooDear = false;
try {
  for (const [name, measure] of Object.entries(PARTS).filter(([each]) => each.includes(values.only))) {
    console.log(`\n${name}`);
    for (const { what, value, most, unit } of await measure(scope, Number(values.rounds))) {
      const isOver = most !== undefined && value > most;
      isTooDear ||= isOver;
      const bound = most === undefined ? '' : `at most ${most} ${unit}${isOver ? ', too much' : ''}`;
      console.log(`  ${what.padEnd(46)}${value.toFixed(1).padStart(9)} ${unit.padEnd(4)} ${bound}`);
    }
  }
} finally {
  await scope.end();
}
process.exitCode = isTooDear ? 1 : 0;
