/** The page on clients says what the table of clients says. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { clientsDoc } from '../../scripts/clients-doc.ts';
import { projectFile } from '../support/sources.ts';

test('docs/clients.md has what the table of clients comes to: otherwise run npm run make:clients-doc', () => {
  const page = projectFile('docs/clients.md');
  assert.equal(page, clientsDoc(page));
});

test('every client was asked for everything: what it does not do is explained', () => {
  const rows = projectFile('docs/clients.md')
    .split('\n')
    .filter((line) => /^\| [^|]+ \| \d+\.\d+\.\d+ \|(?: [^|]+ \|){7}$/.test(line));
  assert.ok(rows.length >= 12, 'a client has no row, or a row has a hole');
});
