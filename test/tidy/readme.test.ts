/** The README agrees with the program: its errors, its commands and the directives of the mock. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Command } from 'commander';
import { dashboardSvg } from '../../scripts/dashboard-svg.ts';
import { buildProgram } from '../../src/cli/main.ts';
import { ERROR_STATUS } from '../../src/core/errors.ts';
import { DIRECTIVES } from '../../src/providers/mock/directives.ts';
import { projectFile, tableRows } from '../support/sources.ts';

const readme = projectFile('README.md');
const unquoted = (cell: string | undefined) => (cell ?? '').replaceAll('`', '');

/** The name of a command as a cell shows it, without its arguments. */
const wordsOf = (cell: string | undefined) => unquoted(cell).replace(/^inf-gw | <.*/g, '');

/** The commands that do something, each with its full name: `keys create`. */
function commandsOf(parent: Command, words: readonly string[] = []): { words: string; command: Command }[] {
  return parent.commands.flatMap((command) => {
    const path = [...words, command.name()];
    return command.commands.length > 0 ? commandsOf(command, path) : [{ words: path.join(' '), command }];
  });
}

describe('the README', () => {
  test('lists every error code with its status, and no other', () => {
    const rows = tableRows(readme, '| status | code |').map(([status, code]) => [unquoted(code), Number(status)]);
    assert.deepEqual(rows.toSorted(), Object.entries(ERROR_STATUS).toSorted());
  });

  test('says to retry exactly where a client should', () => {
    const retried = tableRows(readme, '| status | code |').filter((cells) => cells[3]?.startsWith('yes'));
    assert.deepEqual(
      retried.map(([, code]) => unquoted(code)),
      ['rate_limited', 'upstream_error'],
    );
  });

  test('lists every command, and no other', async () => {
    const listed = tableRows(readme, '| command |').map(([command]) => wordsOf(command));
    assert.deepEqual(
      listed.toSorted(),
      commandsOf(await buildProgram())
        .map(({ words }) => words)
        .toSorted(),
    );
  });

  test('names only options that the command takes', async () => {
    const commands = new Map(commandsOf(await buildProgram()).map(({ words, command }) => [words, command]));
    for (const [first, meaning] of tableRows(readme, '| command |')) {
      const words = wordsOf(first);
      const options = commands.get(words)?.options.map(({ long }) => long) ?? [];
      const named = [...(meaning ?? '').matchAll(/`(--[a-z-]+)`/g)].map((match) => match[1] as string);
      for (const option of named) assert.ok(options.includes(option), `${words} ${option}`);
    }
  });

  test('shows the dashboard as it is: otherwise run npm run make:dashboard-svg', () => {
    assert.ok(readme.includes('](docs/dashboard.svg)'));
    assert.equal(projectFile('docs/dashboard.svg'), dashboardSvg());
  });

  test('lists the directives of the mock provider as the mock itself does', () => {
    const rows = tableRows(readme, '| directive |').map(([usage, meaning]) => [unquoted(usage), meaning]);
    assert.deepEqual(rows, DIRECTIVES);
  });
});
