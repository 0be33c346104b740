/**
 * The control socket of a running gateway: where it is, what can block it, and what it does not
 * answer.
 */
import assert from 'node:assert/strict';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { followGateway, readSnapshot } from '../../src/control/client.ts';
import { CONCURRENCY, CONFIG, PROGRAM, Workplace } from '../support/cli.ts';
import { Place } from '../support/place.ts';
import { bounded } from '../support/wait.ts';

/** What may block the path of the socket, and how to check that it was not touched. */
const OBSTACLES = [
  {
    what: 'a file',
    put: (path: string) => writeFileSync(path, 'mine'),
    isThere: (path: string) => readFileSync(path, 'utf8') === 'mine',
  },
  {
    what: 'a directory',
    put: (path: string) => mkdirSync(path),
    isThere: (path: string) => lstatSync(path).isDirectory(),
  },
] as const;

describe('the control socket', { concurrency: CONCURRENCY }, () => {
  test('is beside the state file, private to its owner, and removed when the gateway exits', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    const path = `${place.statePath}-control`;
    const stats = lstatSync(path);
    assert.ok(stats.isSocket());
    assert.equal(stats.mode & 0o777, 0o600);
    assert.equal((await readSnapshot(path))?.state_path, place.statePath);
    assert.equal(await serving.stop(), 0);
    assert.equal(existsSync(path), false);
  });

  test('of a killed gateway answers nobody, and is replaced at the next start', async (t) => {
    const place = new Workplace(t);
    const path = `${place.statePath}-control`;
    const first = await place.serve();
    const { pid } = (await readSnapshot(path)) ?? {};
    first.signal('SIGKILL');
    await first.ended;
    assert.ok(lstatSync(path).isSocket());
    assert.equal(await readSnapshot(path), undefined);
    const second = await place.serveHere();
    const snapshot = await readSnapshot(path);
    assert.ok(snapshot !== undefined && snapshot.pid !== pid);
    assert.equal(lstatSync(path).mode & 0o777, 0o600);
    assert.equal(await second.stop(), 0);
    assert.equal(existsSync(path), false);
  });

  for (const { what, put, isThere } of OBSTACLES) {
    test(`is not opened if ${what} has its path, which is logged and not touched`, async (t) => {
      const place = new Workplace(t);
      const path = `${place.statePath}-control`;
      put(path);
      const serving = await place.serveHere();
      const { level, msg } = await bounded(serving.logged(/control socket/), 'a line about the control socket');
      assert.equal(level, 'error');
      assert.ok(msg.includes(path), msg);
      assert.match(msg, /status, reload and tui cannot reach this gateway/);
      assert.equal((await fetch(`${serving.url}/readyz`)).status, 200);
      assert.equal(await readSnapshot(path), undefined);
      assert.equal(await serving.stop(), 0);
      assert.ok(isThere(path));
    });
  }

  test('of a state file with a long path is in a folder of its own, and works as well', async (t) => {
    const place = new Workplace(t, null);
    place.environment.XDG_RUNTIME_DIR = place.directory;
    const own = join(place.directory, 'inf-gw');
    const folder = join(place.directory, 'f'.repeat(80));
    mkdirSync(folder);
    place.write('config.yaml', CONFIG.replace('./state.db', join(folder, 'state.db')));
    const serving = await place.serve();
    const { address } = await place.json<{ address: string }>('status');
    assert.equal(`http://${address}`, serving.url);
    const [name] = await place.json<{ reloaded: boolean }>('reload').then(() => sockets(own));
    const path = join(own, name ?? '');
    assert.equal(lstatSync(own).mode & 0o777, 0o700);
    assert.equal(lstatSync(path).mode & 0o777, 0o600);
    assert.equal(await serving.stop(), 0);
    assert.equal(existsSync(path), false);
  });

  test('is separate for each state file in a directory, so two gateways answer for themselves', async (t) => {
    const place = new Workplace(t);
    place.write('other.yaml', CONFIG.replace('state.db', 'other.db'));
    const [first, second] = await Promise.all([
      place.serve(),
      place.serve([PROGRAM, 'serve', '--config', 'other.yaml']),
    ]);
    const paths = ['state.db', 'other.db'].map((name) => `${join(place.directory, name)}-control`);
    const addresses = await Promise.all(paths.map(async (path) => `http://${(await readSnapshot(path))?.address}`));
    assert.deepEqual(addresses, [first.url, second.url]);
    assert.equal(await first.stop(), 0);
    const left = await Promise.all(paths.map(async (path) => (await readSnapshot(path))?.address !== undefined));
    assert.deepEqual(left, [false, true]);
  });

  test('of a running gateway survives a second one that fails to start', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    const second = place.launch([PROGRAM, 'serve']);
    assert.equal((await bounded(second.ended, 'the second one exits')).status, 1);
    assert.equal(`http://${(await readSnapshot(`${place.statePath}-control`))?.address}`, serving.url);
  });

  for (const answer of ['null', '7', '"x"', '[]', '{}', '{"version":null}']) {
    test(`of another program, which answers ${answer}, is reported in one sentence`, async (t) => {
      const place = new Workplace(t);
      await place.run(['keys', 'list']);
      const other = createServer((_, response) => response.end(answer));
      await new Promise<void>((resolve) => {
        other.listen(`${place.statePath}-control`, resolve);
      });
      t.after(() => other.close());
      for (const words of [['status'], ['reload', '--json'], ['doctor'], ['serve']]) {
        const { stdout, stderr } = words[0] === 'serve' ? await place.serveInVain() : await place.run(words);
        assert.doesNotMatch(stdout + stderr, /internal error|TypeError|\n {4}at /, words.join(' '));
      }
      const { status, stderr } = await place.run(['status']);
      assert.equal(status, 1);
      assert.match(
        stderr,
        /^error: the process at .*-control does not answer as a gateway does; stop it, or restart .*\n$/,
      );
    });
  }

  test('whose feed sends null ends the feed', async (t) => {
    const place = new Workplace(t);
    const path = `${place.statePath}-control`;
    const other = createServer((_, response) => response.write('data: null\n\n'));
    await new Promise<void>((resolve) => {
      other.listen(path, resolve);
    });
    t.after(() => other.close());
    const ended = Promise.withResolvers<void>();
    const onSnapshot = () => ended.reject(new Error('null is no snapshot'));
    followGateway(path, {}, { onSnapshot, onEnd: ended.resolve });
    await bounded(ended.promise, 'the feed ends');
  });

  test('answers 404 to other paths and methods, which do nothing', async (t) => {
    const place = await Place.open(t);
    const key = place.key();
    place.upstream.follow(() => {});
    const waiting = place.outcome(key);
    await place.upstream.call();
    const [live] = (await place.snapshot()).live;
    const asked = [
      ['GET', '/'],
      ['GET', '/snapshot/'],
      ['GET', '/snapshots'],
      ['GET', '/v1/models'],
      ['GET', '/../snapshot/x'],
      ['POST', '/snapshot'],
      ['POST', '/feed'],
      ['GET', '/reload'],
      ['PUT', '/reload'],
      ['GET', '/drain'],
      ['DELETE', '/drain'],
      ['GET', `/stop-request?id=${live?.id}`],
      ['POST', '/stop-request'],
      ['POST', '/stop-request?id='],
      ['POST', '/stop-request?id=req_unknown'],
    ] as const;
    for (const [method, path] of asked) assert.equal((await place.ask(method, path)).status, 404, `${method} ${path}`);
    assert.ok((await place.ask('GET', '//')).status >= 400);
    const { live: after, draining } = await place.snapshot();
    assert.deepEqual([after.map(({ id }) => id), draining], [[live?.id], false]);
    assert.doesNotMatch(place.serving.text, /config reloaded/);
    place.upstream.calls[0]?.answer(500, {});
    assert.equal(await waiting, '502 upstream_error');
    await place.stop();
  });
});

function sockets(folder: string): string[] {
  return readdirSync(folder).filter((name) => /^[0-9a-f]{16}-control$/.test(name));
}
