/** What V8 has compiled is kept for the next start, where nobody else can change it. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { folderFor } from '../../src/cli/compile-cache.ts';
import { VERSION } from '../../src/core/program.ts';
import { PROGRAM, runNode, Workplace } from '../support/cli.ts';

const homeOf = (t: TestContext): string => {
  const home = join(new Workplace(t, null).directory, 'home');
  mkdirSync(home, { mode: 0o755 });
  return home;
};

const compiledIn = (home: string): string => join(home, '.cache', 'inf-gw', 'compiled');

test('a command keeps what was compiled, in a folder that is closed to others', async (t) => {
  const home = homeOf(t);
  const { status } = await runNode([PROGRAM, 'version'], {
    directory: home,
    environment: { HOME: home, NODE_COMPILE_CACHE: '' },
  });
  assert.equal(status, 0);
  const folder = join(compiledIn(home), VERSION);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  assert.notEqual(readdirSync(folder, { recursive: true }).length, 0);
});

test('with NODE_DISABLE_COMPILE_CACHE it keeps nothing', async (t) => {
  const home = homeOf(t);
  const environment = { HOME: home, NODE_COMPILE_CACHE: '', NODE_DISABLE_COMPILE_CACHE: '1' };
  assert.equal((await runNode([PROGRAM, 'version'], { directory: home, environment })).status, 0);
  assert.deepEqual(readdirSync(home), []);
});

test('a new version removes what the one before has left, and nothing else', (t) => {
  const home = homeOf(t);
  const [before, other] = [join(compiledIn(home), '0.0.1'), join(compiledIn(home), 'other')];
  for (const folder of [before, other]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  assert.equal(folderFor({ HOME: home }), join(compiledIn(home), VERSION));
  assert.deepEqual([existsSync(before), existsSync(other)], [false, true]);
});

test('XDG_CACHE_HOME is where it is kept', (t) => {
  const cache = homeOf(t);
  assert.equal(folderFor({ HOME: '/root', XDG_CACHE_HOME: cache }), join(cache, 'inf-gw', 'compiled', VERSION));
});

describe('there is no folder for it', () => {
  test('without a home', () => assert.equal(folderFor({}), undefined));
  test('where the home is no path', () => assert.equal(folderFor({ HOME: 'home' }), undefined));
  test('where the home does not exist', (t) => {
    const home = join(homeOf(t), 'none');
    assert.equal(folderFor({ HOME: home }), undefined);
    assert.equal(existsSync(home), false);
  });

  for (const open of ['.cache', '.cache/inf-gw', '.cache/inf-gw/compiled']) {
    test(`where others can write to ${open}`, (t) => {
      const home = homeOf(t);
      const folder = join(home, open);
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      chmodSync(folder, 0o777);
      assert.equal(folderFor({ HOME: home }), undefined);
    });
  }

  for (const open of ['', '.cache', '.cache/inf-gw']) {
    test(`where others can put a link into ~/${open}, whatever that leads to`, (t) => {
      const home = homeOf(t);
      const elsewhere = join(homeOf(t), 'private');
      const others = join(elsewhere, '0.0.1');
      mkdirSync(others, { recursive: true, mode: 0o700 });
      mkdirSync(join(home, open), { recursive: true, mode: 0o755 });
      chmodSync(join(home, open), 0o1777);
      mkdirSync(join(home, '.cache', 'inf-gw'), { recursive: true, mode: 0o755 });
      symlinkSync(elsewhere, compiledIn(home));
      assert.equal(folderFor({ HOME: home }), undefined);
      assert.deepEqual(readdirSync(elsewhere), ['0.0.1']);
    });
  }

  test('where it is open to others', (t) => {
    const home = homeOf(t);
    const folder = join(compiledIn(home), VERSION);
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o755);
    assert.equal(folderFor({ HOME: home }), undefined);
  });

  test('in the home of another user', { skip: process.getuid?.() !== 0 }, (t) => {
    const home = homeOf(t);
    chownSync(home, 1234, 1234);
    assert.equal(folderFor({ HOME: home }), undefined);
    assert.deepEqual(readdirSync(home), []);
  });
});

describe('a script', () => {
  /** Runs it in a process of its own, under a flag that gateways set. Returns what it exports, and the file of what was compiled. */
  const runScript = async (home: string, text: string) => {
    const path = join(home, 'a.script.js');
    writeFileSync(path, text);
    const program = `
      import { keepCompiled, loadScript } from ${JSON.stringify(import.meta.resolve('../../src/cli/compile-cache.ts'))};
      import { compileToServe } from ${JSON.stringify(import.meta.resolve('../../src/core/compiling.ts'))};
      keepCompiled();
      const { value } = loadScript(${JSON.stringify(path)});
      compileToServe();
      process.stdout.write(value());`;
    const environment = { HOME: home, NODE_COMPILE_CACHE: '' };
    const { status, stdout, stderr } = await runNode(['--input-type=module', '--eval', program], {
      directory: home,
      environment,
    });
    assert.equal(status, 0, stderr);
    const kept = readdirSync(compiledIn(home), { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.includes('.script'),
    );
    assert.equal(kept.length, 1);
    return { value: stdout, kept: join(compiledIn(home), kept[0] ?? '') };
  };
  const exporting = (value: string) =>
    `(function (exports, require, module, __filename) { exports.value = () => require('node:path').basename(__filename, '.script.js') + ' ${value}' })`;

  test('is compiled once, also where a flag was set since', async (t) => {
    const home = homeOf(t);
    const { value, kept } = await runScript(home, exporting('one'));
    const { ino, mode } = statSync(kept);
    assert.deepEqual([value, mode & 0o777], ['a one', 0o600]);
    assert.equal((await runScript(home, exporting('one'))).value, 'a one');
    assert.equal(statSync(kept).ino, ino);
  });

  test('runs as it is, whatever was compiled of one as long', async (t) => {
    const home = homeOf(t);
    await runScript(home, exporting('one'));
    assert.equal((await runScript(home, exporting('two'))).value, 'a two');
  });

  for (const [what, change] of [
    [
      'in which a text has changed',
      (bytes: Buffer) => Buffer.from(bytes.toString('latin1').replace(' one', ' two'), 'latin1'),
    ],
    ['that was cut short', (bytes: Buffer) => bytes.subarray(0, 5)],
    ['that is empty', () => Buffer.alloc(0)],
  ] as const) {
    test(`runs without compiled code ${what}, which is made anew`, async (t) => {
      const home = homeOf(t);
      const { kept } = await runScript(home, exporting('one'));
      const right = readFileSync(kept);
      writeFileSync(kept, change(Buffer.from(right)));
      assert.equal((await runScript(home, exporting('one'))).value, 'a one');
      assert.deepEqual(readFileSync(kept).subarray(0, 4), right.subarray(0, 4));
      assert.equal(readFileSync(kept).length, right.length);
    });
  }
});
