/** `npm ci` must not run a compiler. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface PackageEntry {
  readonly gypfile?: boolean;
  readonly hasInstallScript?: boolean;
}

interface LockFile {
  readonly packages: Readonly<Record<string, PackageEntry>>;
}

const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

test('installing better-sqlite3, which has prebuilt binaries, does not run node-gyp', () => {
  // npm runs node-gyp, which needs Python and Node's headers, for every package with a binding.gyp,
  // unless allowScripts (npm 11.16 and newer) or the lock file forbids it. npm install drops the
  // line from the lock file: put `"gypfile": false` back after the version of better-sqlite3.
  const lock = JSON.parse(read('package-lock.json')) as LockFile;
  assert.equal(lock.packages['node_modules/better-sqlite3']?.gypfile, false);
});

test('installing runs the script of one package alone, which fetches Node', () => {
  const { allowScripts } = JSON.parse(read('package.json')) as { allowScripts: Record<string, boolean> };
  const allowed = Object.entries(allowScripts).flatMap(([name, isAllowed]) => (isAllowed ? [name] : []));
  assert.deepEqual(allowed, ['node']);
  const { packages } = JSON.parse(read('package-lock.json')) as LockFile;
  const withScripts = Object.entries(packages).flatMap(([path, entry]) =>
    entry.hasInstallScript === true ? [path.replace('node_modules/', '')] : [],
  );
  // npm complains of a package that the list leaves out. Of better-sqlite3 it would make a script up.
  assert.deepEqual([...withScripts, 'better-sqlite3'].toSorted(), Object.keys(allowScripts).toSorted());
});

test('the lock file names no registry host', () => {
  const text = read('package-lock.json');
  assert.doesNotMatch(text, /"resolved"/);
  // A funding URL is not a host to install from.
  assert.doesNotMatch(text.replace(/"(?:url|funding)": "[^"]*"/g, ''), /https?:\/\//);
});
