/** The page on failing providers says what the fault matrix says. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { faultsDoc } from '../../scripts/faults-doc.ts';
import { projectFile } from '../support/sources.ts';

test('docs/faults.md is what the fault matrix comes to: otherwise run npm run make:faults-doc', () => {
  assert.equal(projectFile('docs/faults.md'), faultsDoc());
});
