/** The `.env` beside the config: what it adds to the environment, when it is warned of, and when it is an error. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { withEnvFile } from '../../src/config/env-file.ts';
import { loadConfig } from '../../src/config/load.ts';

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
