/** What `npm ci` does on a machine without a compiler: it must run none. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly gypfile?: boolean; readonly resolved?: string }>>;
}

const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

test('installing runs no node-gyp for better-sqlite3, which brings its binaries', () => {
  // npm asks node-gyp (and so Python and the headers of Node) about every package that has a binding.gyp, unless
  // allowScripts says no (npm 11.16 and newer) or the lock file does. npm install drops this line from the lock file:
  // put `"gypfile": false` back behind the version of better-sqlite3.
  const lock = JSON.parse(read('package-lock.json')) as LockFile;
  assert.equal(lock.packages['node_modules/better-sqlite3']?.gypfile, false);
  const { allowScripts } = JSON.parse(read('package.json')) as { allowScripts: Record<string, boolean> };
  assert.deepEqual(allowScripts, { node: true, 'better-sqlite3': false });
});

test('the lock file names no host', () => {
  const text = read('package-lock.json');
  assert.doesNotMatch(text, /"resolved"/);
  // Where a package asks for support is no host to install from.
  assert.doesNotMatch(text.replace(/"(?:url|funding)": "[^"]*"/g, ''), /https?:\/\//);
});
