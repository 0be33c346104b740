/**
 * References to variables and files in the config: their values, and the errors if there are none.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { expandReferences } from '../../src/config/secrets.ts';

test('references are replaced with the values of variables and files, and nothing else is', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-secrets-'));
  t.after(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'secret.txt'), 'from-file\n');
  writeFileSync(join(directory, 'empty.txt'), ' \n');
  const environment = { KEY: 'value', PADDED: ' padded\n', EMPTY: '', BLANK: '  ', DOLLAR: `$& \${KEY} $1` };
  const value = (text: string, hadBlanks = false) => ({ kind: 'value', value: text, hadBlanks });
  const unset = (variable: string) => ({ kind: 'unset', variable });
  const unreadable = (reason: RegExp) => ({ kind: 'unreadable', reason });
  const rows: [text: string, expected: { kind: string; value?: string; variable?: string; reason?: RegExp }][] = [
    ['plain', value('plain')],
    ['', value('')],
    [`\${KEY}`, value('value')],
    [`Bearer \${KEY}:\${KEY}`, value('Bearer value:value')],
    [`\${PADDED}`, value('padded', true)],
    [`\${DOLLAR}`, value(`$& \${KEY} $1`)],
    ['$KEY', value('$KEY')],
    [`\${KEY`, value(`\${KEY`)],
    [`\${file:secret.txt}`, value('from-file')],
    [`\${file:${directory}/secret.txt}`, value('from-file')],
    [`\${UNSET}`, unset('UNSET')],
    [`\${EMPTY}`, unset('EMPTY')],
    [`\${BLANK}`, unset('BLANK')],
    [`\${KEY} \${UNSET} \${EMPTY}`, unset('UNSET')],
    [`\${key}`, unset('key')],
    [`\${constructor}`, unset('constructor')],
    [`\${}`, unreadable(/neither a variable name nor file/)],
    [`\${KEY:-fallback}`, unreadable(/neither a variable name nor file/)],
    [`\${file:missing.txt}`, unreadable(/missing\.txt \(ENOENT\)/)],
    [`\${file:empty.txt}`, unreadable(/empty\.txt is empty/)],
    [`\${file:.}`, unreadable(/EISDIR/)],
  ];
  for (const [text, expected] of rows) {
    const expansion = expandReferences(text, environment, directory);
    if (expected.reason === undefined) assert.deepEqual(expansion, expected, text);
    else assert.match(expansion.kind === 'unreadable' ? expansion.reason : '', expected.reason, text);
  }
});
