/**
 * Many reloads leave nothing behind in a process. Alone in its file, since it counts everything
 * that the process has open: what is left of earlier files may only go.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { startGateway } from '../../src/gateway/gateway.ts';
import { openLog } from '../../src/observe/log.ts';
import { answering, completion } from '../support/answers.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { newKey, rawChat } from '../support/place.ts';
import { RawConnection } from '../support/raw.ts';
import { until } from '../support/wait.ts';
import { withNewThreads } from '../support/workers.ts';

const RELOADS = 100;

/** How many resources of each type the process has open. */
function resources(): ReadonlyMap<string, number> {
  const types = Map.groupBy(process.getActiveResourcesInfo(), (type) => type);
  return new Map([...types].map(([type, all]) => [type, all.length]));
}

test('many reloads leave no connections, timers or threads behind', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-leaks-'));
  const upstream = await FakeUpstream.start();
  upstream.follow(answering(completion('hi')));
  const base_url = `http://127.0.0.1:${upstream.port}/v1`;
  const host = { kind: 'openai', base_url, models: { model: { input: 0, output: 0 } } };
  const fields = { listen: '127.0.0.1:0', state: './state.db', log: { level: 'silent' }, providers: { host } };
  writeFileSync(join(directory, 'config.yaml'), JSON.stringify(fields));
  const config = () => loadConfig({ directory, environment: {} });
  const onFatal = (error: Error) => {
    throw error;
  };
  const gateway = await startGateway(config(), await openLog('silent', 'json'), { onFatal });
  const connection = await RawConnection.open(gateway.address.port);
  t.after(async () => {
    connection.leave();
    await gateway.stop(0);
    await upstream.close();
    rmSync(directory, { recursive: true });
  });
  const key = newKey(config().statePath);
  const ask = async () => {
    connection.send(rawChat(key));
    assert.equal((await connection.answer()).status, 200);
  };
  await ask();
  const before = resources();
  const { threads } = await withNewThreads(async () => {
    for (let i = 0; i < RELOADS; i++) {
      await gateway.reload(config());
      if (i % 2 === 0) await ask();
    }
    await ask();
  });
  assert.deepEqual(threads, []);
  assert.ok(
    new Set(upstream.calls.map((call) => call.connection)).size > RELOADS / 2,
    'each config has a pool of its own',
  );
  await until(() => [...resources()].every(([type, count]) => count <= (before.get(type) ?? 0)));
});
