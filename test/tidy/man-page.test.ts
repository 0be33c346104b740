/** The man page is generated when a checkout is installed and when the package is made. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { manPage } from '../../scripts/man-page.ts';
import { allNodes, commandTree } from '../../src/cli/command-tree.ts';
import { buildProgram } from '../../src/cli/main.ts';
import { projectFile } from '../support/sources.ts';

test('the man page has a section for each command, in ASCII', async () => {
  const page = await manPage();
  const sections = [...page.matchAll(/^\.SS "inf\\-gw ([^"[<]*?)(?: [[<].*)?"$/gm)].map(([, path = '']) =>
    path.replaceAll('\\-', '-'),
  );
  const commands = allNodes(commandTree(await buildProgram())).filter((node) => node.commands.length === 0);
  assert.deepEqual(
    sections,
    commands.map(({ path }) => path),
  );
  assert.match(page, /^[\n -~]*$/);
});

test('the package has it where npm looks for it', () => {
  const { man, files } = JSON.parse(projectFile('package.json')) as { man: string; files: string[] };
  assert.equal(man, 'man/inf-gw.1');
  assert.ok(files.includes('man'));
});
