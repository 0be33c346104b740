/**
 * The page on attacks says what the attacks of the tests say, and each of them has a recorded
 * figure.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { attacksDoc } from '../../scripts/attacks-doc.ts';
import { FAMILIES, FIGURES_FILE } from '../hostile/table.ts';
import { projectFile } from '../support/sources.ts';

test('docs/attacks.md agrees with the attacks of the tests: otherwise run npm run make:attacks-doc', () => {
  assert.equal(projectFile('docs/attacks.md'), attacksDoc());
});

test('every attack has a recorded figure: otherwise run npm run prove -- hostile --what table --record', () => {
  const claims = FAMILIES.flatMap(({ attacks }) => attacks.map(({ claim }) => claim));
  assert.equal(new Set(claims).size, claims.length, 'two attacks have the same claim');
  assert.deepEqual(Object.keys(JSON.parse(readFileSync(FIGURES_FILE, 'utf8'))).toSorted(), claims.toSorted());
});
