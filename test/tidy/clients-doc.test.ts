/** The page on clients says what the table of clients says. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { clientsDoc } from '../../scripts/clients-doc.ts';
import { projectFile } from '../support/sources.ts';

test('docs/clients.md has what the table of clients comes to: otherwise run npm run make:clients-doc', () => {
  const page = projectFile('docs/clients.md');
  assert.equal(page, clientsDoc(page));
});
