/** The runner knows whether what was built is of the sources as they are. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { changedSinceBuilt } from '../support/built-threads.ts';

test('what has changed since the program was built is found, also what is gone', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'inf-gw-built-'));
  t.after(() => rmSync(root, { recursive: true }));
  const write = (path: string, atS: number) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), '');
    for (const each of [path, dirname(path)]) utimesSync(join(root, each), atS, atS);
  };
  write('src/main.ts', 100);
  write('src/http/server.ts', 100);
  utimesSync(join(root, 'src'), 100, 100);
  assert.deepEqual(changedSinceBuilt(root), ['src', 'src/http', 'src/http/server.ts', 'src/main.ts']);
  write('dist/LICENSES.txt', 200);
  assert.deepEqual(changedSinceBuilt(root), []);
  utimesSync(join(root, 'src/main.ts'), 300, 300);
  assert.deepEqual(changedSinceBuilt(root), ['src/main.ts']);
  utimesSync(join(root, 'src/main.ts'), 100, 100);
  rmSync(join(root, 'src/http/server.ts'));
  assert.deepEqual(changedSinceBuilt(root), ['src/http']);
});

const SERVE = readFileSync(join(import.meta.dirname, '../../dist/cli/serve-main.script.js'), 'utf8');

test('what serve loads is all ASCII: V8 would else keep two bytes of each character', () => {
  assert.deepEqual(SERVE.match(/\P{ASCII}+/gu) ?? [], []);
});

test('what serve loads is strict, as modules are: else a change of what is frozen would pass unnoticed', () => {
  assert.match(SERVE, /^\(function \(.*\) \{ 'use strict';\n/);
});
