/** The man page has every command, as the program itself has it. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { manPage } from '../../scripts/man-page.ts';
import { projectFile } from '../support/sources.ts';

test('man/inf-gw.1 is what the commands come to: otherwise run npm run make:man-page', async () => {
  assert.equal(projectFile('man/inf-gw.1'), await manPage());
});

test('the package has it where npm looks for it', () => {
  const { man, files } = JSON.parse(projectFile('package.json')) as { man: string; files: string[] };
  assert.equal(man, 'man/inf-gw.1');
  assert.ok(files.includes('man'));
});
