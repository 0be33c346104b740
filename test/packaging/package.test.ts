/** The npm package: its tarball, with the packages that npm installs for it and no others, is the whole program. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CONFIG } from '../support/cli.ts';
import { Alone, emptyFolder } from './alone.ts';
import { firstSteps } from './first-steps.ts';
import { copyCheckout, pack, ROOT } from './pack.ts';

/** The tables of the token estimate are 350 kB. */
const MOST_BYTES = 930e3;

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}

/** Links to what `npm install` would put beside the program. */
function linkDependencies(folder: string): void {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  for (const [path, { dev = false }] of Object.entries(packages)) {
    // A package within another comes with that.
    if (dev || !/^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path)) continue;
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    symlinkSync(join(ROOT, path), join(folder, path));
  }
}

test('a checkout without the packages for development runs from its sources', async (t) => {
  const folder = emptyFolder(t);
  copyCheckout(folder);
  linkDependencies(folder);
  execFileSync(process.execPath, [join(folder, 'scripts/prepare.js')], { stdio: 'ignore' });
  assert.ok(!existsSync(join(folder, 'dist')));
  mkdirSync(join(folder, 'dist/cli'), { recursive: true });
  writeFileSync(join(folder, 'dist/cli/main.js'), 'throw new Error("built before, for another bin/inf-gw.js");');
  const program = new Alone(t, folder, [process.execPath, join(folder, 'bin/inf-gw.js')], {
    config: `threads: 2\n${CONFIG}`,
  });
  const { serving } = await firstSteps(program, 'checkout');
  assert.equal(await serving.stop(), 0);
});

describe('the npm package', () => {
  const packed = emptyFolder({ after });
  const executable = join(packed, 'dist/inf-gw-linux-x64');
  let tarball: string;
  before(() => {
    mkdirSync(dirname(executable));
    writeFileSync(executable, 'built before');
    tarball = pack(packed);
  });

  test('is made beside an executable, which stays', () => {
    assert.equal(readFileSync(executable, 'utf8'), 'built before');
  });

  test('has less than 930 kB, and only files that the program needs', () => {
    assert.ok(statSync(tarball).size < MOST_BYTES, `${statSync(tarball).size} bytes`);
    const names = execFileSync('tar', ['-tzf', tarball]).toString().trim().split('\n');
    const folders = new Set(names.map((name) => name.split('/').slice(1, 3).join('/')));
    assert.deepEqual(
      [...folders].toSorted(),
      [
        'LICENSE',
        'README.md',
        'bin/inf-gw.js',
        'config.example.yaml',
        'dist/LICENSES.txt',
        ...['alerts', 'audit', 'chunks', 'cli', 'gateway', 'ledger', 'state', 'tokens'].map(
          (folder) => `dist/${folder}`,
        ),
        'man/inf-gw.1',
        'package.json',
      ].toSorted(),
    );
  });

  test('takes the first steps, keeps a limit under a race, and passes the audit', async (t) => {
    const folder = emptyFolder(t);
    execFileSync('tar', ['-xzf', tarball, '-C', folder]);
    linkDependencies(join(folder, 'package'));
    assert.ok(readdirSync(join(folder, 'package/node_modules')).includes('better-sqlite3'));
    const program = new Alone(t, folder, [process.execPath, join(folder, 'package/bin/inf-gw.js')]);
    const { serving } = await firstSteps(program, 'package');
    assert.equal(await serving.stop(), 0);
    const { status, stdout } = await program.run('audit');
    assert.equal(status, 0, stdout);
  });
});
