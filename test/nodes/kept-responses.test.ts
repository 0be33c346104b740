/**
 * Responses that hosts keep, in real processes: a record survives the end of a gateway by force, and in a database every
 * gateway knows it, with a role that may do no more than a gateway needs.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { KeepingHost } from '../hostile-dialects/keeping-host.ts';
import { CONFIG, type Serving, Workplace } from '../support/cli.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { PostgresServer } from '../support/postgres.ts';

async function withHost(work: (host: KeepingHost, provider: string) => Promise<void>): Promise<void> {
  const upstream = await FakeUpstream.start();
  const host = new KeepingHost();
  upstream.follow(host.follow);
  const keeping = `  keeping:
    kind: openai
    base_url: http://127.0.0.1:${upstream.port}/v1
    responses_state: per_key
    models:
      echo: { input: 1, output: 2, max_output: 1000 }
`;
  try {
    await work(host, keeping);
  } finally {
    await upstream.close();
  }
}

async function ask(gateway: Serving, key: string, fields: object = {}): Promise<{ status: number; id: string }> {
  const reply = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'keeping/echo', input: 'Hello!', ...fields }),
  });
  return { status: reply.status, id: ((await reply.json()) as { id: string }).id };
}

describe('what a host keeps for a key', () => {
  test('is known after the gateway was killed, as soon as its client has seen the answer', (t) =>
    withHost(async (host, provider) => {
      const place = new Workplace(t, CONFIG + provider);
      const { key } = await place.createKey('app');
      await place.json('credit', 'add', '5');
      const first = await place.serve();
      const made = await ask(first, key);
      first.signal('SIGKILL');
      await first.ended;
      const second = await place.serve();
      assert.equal((await ask(second, key, { previous_response_id: made.id })).status, 200);
      assert.equal(await second.stop(), 0);
      assert.equal(host.bills.length, 2);
      assert.equal((await place.json<{ ok: boolean }>('audit')).ok, true);
    }));

  test('is known to every gateway on a database, with a role of their own, and moves to a file', (t) =>
    withHost(async (host, provider) => {
      const server = await PostgresServer.start();
      t.after(() => server.stop());
      const url = await server.createDatabase();
      await server.query("CREATE ROLE node LOGIN PASSWORD 'secret'");
      const as = Object.assign(new URL(url), { username: 'node', password: 'secret' }).href;
      const place = new Workplace(t, CONFIG.replace('./state.db', url) + provider);
      for (const name of ['a', 'b']) {
        place.write(`${name}.yaml`, `node: ${name}\n${CONFIG.replace('./state.db', as)}${provider}`);
      }
      const [own, foreign] = [await place.createKey('own'), await place.createKey('foreign')];
      await place.json('credit', 'add', '5');
      await place.json('state', 'grant', 'node');
      const [a, b] = [await place.serveHere('a.yaml'), await place.serveHere('b.yaml')];
      const made = await ask(a, own.key);
      const next = await ask(b, own.key, { previous_response_id: made.id });
      assert.deepEqual([made.status, next.status], [200, 200]);
      for (const gateway of [a, b]) {
        assert.equal((await ask(gateway, foreign.key, { previous_response_id: made.id })).status, 404);
      }
      for (const gateway of [a, b]) {
        assert.equal(await gateway.stop(), 0);
        assert.doesNotMatch(gateway.text, /permission denied|not recorded/);
      }
      assert.equal((await place.json<{ ok: boolean }>('audit')).ok, true);
      await place.json('state', 'migrate', '--to', './moved.db');
      place.write('file.yaml', CONFIG.replace('./state.db', './moved.db') + provider);
      const moved = await place.serveHere('file.yaml');
      assert.equal((await ask(moved, own.key, { previous_response_id: next.id })).status, 200);
      assert.equal((await ask(moved, foreign.key, { previous_response_id: next.id })).status, 404);
      assert.equal(await moved.stop(), 0);
      assert.equal(host.bills.length, 3);
    }));
});
