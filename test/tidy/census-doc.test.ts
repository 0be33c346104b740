/** The page of the census says what its tables say. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { censusDoc } from '../../scripts/census-doc.ts';
import { projectFile } from '../support/sources.ts';

test('docs/census.md is what the tables of the census come to: otherwise run npm run make:census-doc', () => {
  assert.equal(projectFile('docs/census.md'), censusDoc());
});
