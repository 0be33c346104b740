/**
 * The failure matrix: whatever a provider does wrong, client, journal and connections are as the
 * table says.
 */
import assert from 'node:assert/strict';
import test, { after, describe } from 'node:test';
import { auditElsewhere } from '../support/auditor.ts';
import { Site } from './site.ts';
import { cellsFor, nameOf } from './table.ts';
import { play } from './trial.ts';

/** They mostly wait. */
const AT_ONCE = 24;
const site = await Site.open({ after }, cellsFor(['stays', 'leaves']));

describe('a provider that', { concurrency: AT_ONCE }, () => {
  for (const place of site.places) {
    test(nameOf(place.cell), async () => {
      await play(site, place);
    });
  }
});

test('afterwards nothing is held, the sums are correct, and the gateway exits cleanly with all connections closed', async () => {
  site.assertSettled();
  for (const { name, differences } of await auditElsewhere(site.workplace.statePath))
    assert.deepEqual(differences, [], name);
  const lines = site.serving.log.filter(({ level }) => !['info', 'warn'].includes(level));
  assert.deepEqual(lines, []);
  assert.equal(await site.serving.stop(), 0);
  assert.deepEqual(
    site.places.filter(({ host }) => host.connections() > 0).map(({ cell }) => nameOf(cell)),
    [],
  );
});
