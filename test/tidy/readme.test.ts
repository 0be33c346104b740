/** What a stranger reads first agrees with the program: errors, commands, the directives of the mock. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { Command } from 'commander';
import { buildProgram } from '../../src/cli/main.ts';
import { ERROR_STATUS } from '../../src/core/errors.ts';
import { DIRECTIVES } from '../../src/providers/mock/directives.ts';
import { projectFile, tableRows } from '../support/sources.ts';

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

const http = projectFile('docs/http.md');
const commands = projectFile('docs/commands.md');

describe('the pages that one reads first', () => {
  test('list every error code with its status, and no other', () => {
    const rows = tableRows(http, '| status | code |').map(([status, code]) => [unquoted(code), Number(status)]);
    assert.deepEqual(rows.toSorted(), Object.entries(ERROR_STATUS).toSorted());
  });

  test('say to retry exactly where a client should', () => {
    const retried = tableRows(http, '| status | code |').filter((cells) => cells[3]?.startsWith('yes'));
    assert.deepEqual(
      retried.map(([, code]) => unquoted(code)),
      ['rate_limited', 'upstream_error'],
    );
  });

  test('list every command, and no other', async () => {
    const listed = tableRows(commands, '| command |').map(([command]) => wordsOf(command));
    assert.deepEqual(
      listed.toSorted(),
      commandsOf(await buildProgram())
        .map(({ words }) => words)
        .toSorted(),
    );
  });

  test('name only options that the command takes', async () => {
    const known = new Map(commandsOf(await buildProgram()).map(({ words, command }) => [words, command]));
    for (const [first, meaning] of tableRows(commands, '| command |')) {
      const words = wordsOf(first);
      const options = known.get(words)?.options.map(({ long }) => long) ?? [];
      const named = [...(meaning ?? '').matchAll(/`(--[a-z-]+)`/g)].map((match) => match[1] as string);
      for (const option of named) assert.ok(options.includes(option), `${words} ${option}`);
    }
  });

  test('are beside helps whose examples fit a terminal of 80 columns', async () => {
    for (const { words, command } of commandsOf(await buildProgram())) {
      let help = '';
      command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
      const [, examples = ''] = help.split('\nExamples:\n');
      for (const line of examples.split('\n')) assert.ok(line.length <= 80, `${words}: ${line}`);
    }
  });

  test('list the directives of the mock provider as the mock itself does', () => {
    const rows = tableRows(projectFile('docs/mock.md'), '| directive |').map(([usage, meaning]) => [
      unquoted(usage),
      meaning,
    ]);
    assert.deepEqual(rows, DIRECTIVES);
  });

  test('are a README of one page, and an index of all others', () => {
    assert.ok(projectFile('README.md').split('\n').length <= 131);
    const index = projectFile('docs/README.md');
    const pages = readdirSync(new URL('../../docs', import.meta.url)).filter((name) => name.endsWith('.md'));
    const missing = pages.filter((name) => name !== 'README.md' && !index.includes(`](${name})`));
    assert.deepEqual(missing, []);
  });
});
