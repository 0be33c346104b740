/** The `.env` beside the config, and references to variables and files: their values, warnings and errors. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { withEnvFile } from '../../src/config/env-file.ts';
import { loadConfig } from '../../src/config/load.ts';
import { expandReferences } from '../../src/config/secrets.ts';

/** A folder with a `.env` that holds this text, closed to others; without a text there is none. */
function folder(scope: { after(cleanUp: () => void): void }, text?: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-env-'));
  scope.after(() => rmSync(directory, { recursive: true }));
  if (text !== undefined) writeFileSync(join(directory, '.env'), text, { mode: 0o600 });
  return directory;
}

test('a variable of the .env counts where the environment has none, not even an empty one', (t) => {
  const text = `\uFEFFFIRST=1\n# note\nexport QUOTED="a # b"\nOURS='theirs'\nEMPTY=theirs\nLITERAL=\${OURS}\nno assignment\n`;
  const { environment, warnings } = withEnvFile({ OURS: 'ours', EMPTY: '' }, folder(t, text));
  assert.deepEqual({ ...environment }, { FIRST: '1', QUOTED: 'a # b', OURS: 'ours', EMPTY: '', LITERAL: `\${OURS}` });
  assert.deepEqual(warnings, []);
  assert.equal(process.env.FIRST, undefined, 'the process keeps its own environment');
});

test('it is read beside the config, wherever the command is started', (t) => {
  const directory = folder(t, 'HOST_KEY=from-file\n');
  const elsewhere = folder(t, 'HOST_KEY=not-this-one\n');
  const host = `kind: openai, base_url: "http://127.0.0.1:9", api_key: "\${HOST_KEY}", models: {}`;
  writeFileSync(join(directory, 'config.yaml'), `providers: { host: { ${host} } }\n`);
  const keyWith = (environment: NodeJS.ProcessEnv) => {
    const [provider] = loadConfig({
      path: join(directory, 'config.yaml'),
      environment,
      directory: elsewhere,
    }).providers;
    assert.ok(provider?.kind === 'openai');
    return provider.upstreams[0]?.apiKey;
  };
  assert.equal(keyWith({}), 'from-file');
  assert.equal(keyWith({ HOST_KEY: 'from-environment' }), 'from-environment');
});

test('the config warns of a .env that all users of the machine can read or write', (t) => {
  const directory = folder(t, 'A=1\n');
  writeFileSync(join(directory, 'config.yaml'), 'providers: {}\n');
  const warningsAt = (mode: number) => {
    chmodSync(join(directory, '.env'), mode);
    return loadConfig({ environment: {}, directory }).warnings;
  };
  for (const mode of [0o644, 0o604, 0o602]) {
    assert.deepEqual(warningsAt(mode), [
      `${directory}/.env is open to all users of this machine; close it with: chmod 600 ${directory}/.env`,
    ]);
  }
  // A group is what an administrator gives a file on purpose.
  for (const mode of [0o600, 0o640]) assert.deepEqual(warningsAt(mode), []);
});

test('one that cannot be used is an error that says why, and none is fine', (t) => {
  const none = folder(t);
  assert.deepEqual(withEnvFile({ A: '1' }, none), { environment: { A: '1' }, warnings: [] });
  mkdirSync(join(none, '.env'));
  assert.throws(() => withEnvFile({}, none), {
    name: 'UserError',
    message: /^\S+\.env is a directory; .* or move it away$/,
  });
  const full = (bytes: number) => folder(t, `A=${'x'.repeat(bytes - 2)}`);
  assert.equal(withEnvFile({}, full(65_536)).environment.A?.length, 65_534);
  assert.throws(() => withEnvFile({}, full(65_537)), {
    name: 'UserError',
    message: /has 65537 bytes, and 65536 are the most/,
  });
  const loop = folder(t);
  symlinkSync('.env', join(loop, '.env'));
  assert.throws(() => withEnvFile({}, loop), { name: 'UserError', message: /^cannot read \S+\.env \(ELOOP\); / });
});

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
