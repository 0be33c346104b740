/** What the dashboard costs: on a real terminal beside a gateway under full load, with few keys and with many. */
import { campaign, chosen, showRow } from '../support/campaign.ts';
import type { RunScope } from '../support/run-scope.ts';
import type { Cost } from './costs.ts';
import { measureKeys } from './keys.ts';
import { measureLoad } from './load.ts';

const PARTS: Readonly<Record<string, (scope: RunScope, rounds: number) => Promise<Cost[]>>> = {
  load: measureLoad,
  'few keys': (scope) => measureKeys(scope, { keys: 10, rows: 20_000, terminal: '120x40' }),
  'many keys': (scope) => measureKeys(scope, { keys: 10_000, rows: 20_000, terminal: '200x60' }),
  // SQLite keeps some 20 MB more of a journal that a filter has looked through.
  'many rows': (scope) => measureKeys(scope, { keys: 10_000, rows: 1_000_000, terminal: '120x40', mostMemoryMb: 225 }),
};

export default campaign({
  proves: 'the dashboard costs no more than it may',
  options: { rounds: 10, only: '' },
  minutes: 8,
  async run(course, { rounds, only }) {
    const parts = chosen(Object.entries(PARTS), only, ([name]) => name);
    for (const [name, measure] of parts) {
      for (const { what, value, most = Number.POSITIVE_INFINITY, unit } of await measure(course, rounds)) {
        showRow(`${name}: ${what}`, [value, unit, Number.isFinite(most) ? `at most ${most}` : '']);
        if (value > most) course.deviate(`${name}: ${what} is ${value} ${unit}, which is more than ${most}`);
      }
    }
    return `${parts.length} measurements`;
  },
});
