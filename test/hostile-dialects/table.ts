/** All attacks in the dialects, and a test for those of each family in each direction. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { ATTACHMENTS } from './attacks/attachments.ts';
import { CACHES } from './attacks/caches.ts';
import { INPUT } from './attacks/estimates.ts';
import { LEAVING } from './attacks/leaving.ts';
import { OUTPUT } from './attacks/maxima.ts';
import { NAMES } from './attacks/names.ts';
import { PRICES } from './attacks/prices.ts';
import { REFUSED } from './attacks/refused.ts';
import { REPORTS } from './attacks/reports.ts';
import { STREAMS } from './attacks/streams.ts';
import { closeSite, type DialectAttack } from './measures.ts';
import { type Direction, shown } from './requests.ts';

interface Family {
  readonly title: string;
  readonly attacks: readonly DialectAttack[];
}

const FAMILIES: readonly Family[] = [
  INPUT,
  ATTACHMENTS,
  OUTPUT,
  NAMES,
  CACHES,
  PRICES,
  STREAMS,
  LEAVING,
  REPORTS,
  REFUSED,
];

export function testDirections(directions: readonly Direction[]): void {
  after(closeSite);
  for (const { title, attacks } of FAMILIES) {
    describe(title, () => {
      for (const name of directions.map(shown)) {
        const own = attacks.filter(({ direction }) => shown(direction) === name);
        if (own.length > 0) test(`${own.length} attacks in ${name}`, () => runAll(own));
      }
    });
  }
}

/** Runs attacks one after another: a test for each would take longer than the attacks. */
async function runAll(attacks: readonly DialectAttack[]): Promise<void> {
  const passed: string[] = [];
  for (const { claim, unit, most, run } of attacks) {
    const figure = await run();
    if (figure > most) passed.push(`${claim}: it came to ${figure.toFixed(3)} ${unit}; ${most} at most`);
  }
  assert.deepEqual(passed, []);
}
