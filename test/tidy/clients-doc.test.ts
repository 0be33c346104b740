/** The generated tables of docs/clients.md are current. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { clientsDoc } from '../../scripts/clients-doc.ts';
import { FEATURES, type Found } from '../clients/campaign/features.ts';
import { projectFile } from '../support/sources.ts';

test('docs/clients.md is current; if not, run npm run make:clients-doc', () => {
  const page = projectFile('docs/clients.md');
  assert.equal(page, clientsDoc(page));
});

test('every client was tried with every feature', () => {
  const found: readonly Found[] = JSON.parse(projectFile('test/clients/campaign/found.json'));
  const holes = found.filter((each) => FEATURES.some((feature) => !each[feature]) || !each.version);
  assert.deepEqual(holes, []);
  assert.ok(found.length >= 12);
});
