/** Runs a family of attacks as tests: each says how far it came. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { RunScope } from '../support/run-scope.ts';
import type { Family } from './attack.ts';
import { Workshop } from './workshop.ts';

export function testFamily({ title, attacks }: Family): void {
  describe(title, () => {
    // Later tests use what earlier ones opened.
    const scope = new RunScope();
    after(() => scope.end());
    const workshop = new Workshop(scope);
    for (const attack of attacks) {
      test(attack.claim, async (context) => {
        const figure = await attack.run(workshop);
        context.diagnostic(`${attack.passes}: ${figure.toFixed(3)} ${attack.unit}, ${attack.most} at most`);
        assert.ok(figure <= attack.most, `it came to ${figure.toFixed(3)} ${attack.unit}; ${attack.most} at most`);
      });
    }
  });
}
