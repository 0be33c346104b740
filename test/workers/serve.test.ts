/** `serve` with several threads: its log, its shutdown, and the death of a thread. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { audit } from '../../src/audit/audit.ts';
import { chunk, DONE, usageChunk } from '../support/answers.ts';
import {
  type BalanceJson,
  CONCURRENCY,
  CONFIG,
  inParallel,
  linesOf,
  PROGRAM,
  type Serving,
  Workplace,
} from '../support/cli.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { bounded, until } from '../support/wait.ts';

/** Enough that the chance of all going to the same one of two threads is below one in a million. */
const STREAMS = 24;
const TWO_THREADS = `threads: 2\n${CONFIG}`;
const STALLING = {
  model: 'mock/paid',
  stream: true,
  max_tokens: 100,
  messages: [{ role: 'user', content: '/stall 1' }],
};

/** More bytes than a pipe takes in one atomic write. */
const LONG_PATH = `/v1/models/mock/${'x'.repeat(2_500)}`;
const BURSTS = 60;
const BURST = 6;

/** A stream as its client reads it, and what it has received. */
class OpenStream {
  readonly #reader: ReadableStreamDefaultReader<string>;
  text = '';

  private constructor(response: Response) {
    const body = response.body as ReadableStream<Uint8Array<ArrayBuffer>>;
    this.#reader = body.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Opens a stream, and waits for its first event. */
  static async open(serving: Serving, key: string, fields: Record<string, unknown>): Promise<OpenStream> {
    const stream = new OpenStream(await serving.chat(key, fields));
    await stream.#read();
    return stream;
  }

  /** Reads everything up to the end. */
  async rest(): Promise<string> {
    while (await this.#read());
    return this.text;
  }

  async #read(): Promise<boolean> {
    const { done, value } = await this.#reader.read();
    this.text += value ?? '';
    return !done;
  }
}

function openStreams(serving: Serving, key: string, fields: Record<string, unknown>): Promise<OpenStream[]> {
  return Promise.all(Array.from({ length: STREAMS }, () => OpenStream.open(serving, key, fields)));
}

/** True if none of several new connections is accepted, whichever thread it would go to. */
async function isRefused(serving: Serving): Promise<boolean> {
  const tries = Array.from({ length: STREAMS }, () =>
    fetch(`${serving.url}/healthz`).then(
      () => false,
      () => true,
    ),
  );
  return (await Promise.all(tries)).every(Boolean);
}

function assertClean(place: Workplace): void {
  const checks = audit(place.statePath, { onProgress: () => {} });
  assert.deepEqual(
    checks.flatMap(({ differences }) => differences),
    [],
  );
}

/**
 * A module to import before the program: throws in the thread of the worker that first renames the
 * file `die`.
 */
const DYING = `data:text/javascript,${encodeURIComponent(`
  import { renameSync } from 'node:fs';
  import { isMainThread, workerData } from 'node:worker_threads';
  const take = () => { try { renameSync('die', 'died'); } catch { return; } throw new Error('provoked'); };
  if (!isMainThread && workerData?.ledger !== undefined) setInterval(take, 5);
`)}`;

describe('`serve` with two threads', { concurrency: CONCURRENCY }, () => {
  test('logs whole lines of JSON, one for each request', async (t) => {
    const place = new Workplace(t, TWO_THREADS);
    const serving = await place.serve();
    // Without a valid key, lines are limited and summarized.
    const { key } = await place.createKey('app');
    const headers = { authorization: `Bearer ${key}` };
    const ids = await inParallel(Array.from({ length: BURSTS }), async () => {
      const sending = Array.from({ length: BURST }, () => fetch(`${serving.url}${LONG_PATH}`, { headers }));
      const burst = await Promise.all(sending);
      return Promise.all(burst.map(async (response) => [response.headers.get('x-request-id'), await response.text()]));
    });
    // Lines that a slow reader has not read by the exit may be lost.
    await until(() => linesOf(serving.text).length > BURSTS * BURST);
    assert.equal(await serving.stop(), 0);
    const logged = linesOf(serving.text).flatMap((line) => (JSON.parse(line).request_id as string | undefined) ?? []);
    assert.deepEqual(logged.toSorted(), ids.flatMap((burst) => burst.map(([id]) => String(id))).toSorted());
  });

  test('on SIGTERM lets the streams of both finish, accepts nothing new, settles everything, and exits with 0', async (t) => {
    const upstream = await FakeUpstream.start();
    t.after(() => upstream.close());
    upstream.follow((call) => {
      call.stream();
      call.send(chunk('first'));
    });
    const models = '{ model: { input: 1000, output: 1000 } }';
    const host = `  host: { kind: openai, base_url: "http://127.0.0.1:${upstream.port}/v1", models: ${models} }\n`;
    const place = new Workplace(t, TWO_THREADS + host);
    const serving = await place.serve();
    const [{ key }] = await Promise.all([place.createKey('app'), place.json('credit', 'add', '1000')]);
    const streams = await openStreams(serving, key, { model: 'host/model', stream: true });
    serving.signal('SIGTERM');
    await serving.logged(new RegExp(`SIGTERM: shutting down, .* ${STREAMS} requests in flight`));
    await until(() => isRefused(serving));
    for (const call of upstream.calls) {
      call.send(chunk(' last', 'stop') + usageChunk() + DONE);
      call.end();
    }
    for (const stream of streams) assert.match(await stream.rest(), /first[\s\S]* last[\s\S]*data: \[DONE\]\n\n$/);
    assert.deepEqual(await serving.ended, { status: 0, signal: null });
    const [usage] = await place.json<{ requests: number; errors: number }[]>('usage');
    assert.deepEqual([usage?.requests, usage?.errors], [STREAMS, 0]);
    assert.equal((await place.json<BalanceJson>('credit', 'show')).held_usd, '0.00');
    assertClean(place);
  });

  test('aborts and charges streams of both that outlast the drain time', async (t) => {
    const place = new Workplace(t, `timeouts: { drain: 50ms }\n${TWO_THREADS}`);
    const serving = await place.serve();
    const [{ key }] = await Promise.all([place.createKey('app'), place.json('credit', 'add', '1000')]);
    const streams = await openStreams(serving, key, STALLING);
    assert.equal(await serving.stop(), 0);
    for (const stream of streams) {
      assert.match(await stream.rest(), /data: \{"error":\{"code":"upstream_error".*\n\ndata: \[DONE\]\n\n$/);
    }
    const [usage] = await place.json<{ requests: number; errors: number; cost_usd: string }[]>('usage');
    assert.deepEqual([usage?.requests, usage?.errors], [STREAMS, STREAMS]);
    assert.ok(Number(usage?.cost_usd) > 0);
    assert.equal((await place.json<BalanceJson>('credit', 'show')).held_usd, '0.00');
    assertClean(place);
  });

  test('exits with 1 when one of them dies, and the next start charges the open holds', async (t) => {
    const place = new Workplace(t, TWO_THREADS);
    const serving = await place.serve(['--import', DYING, PROGRAM, 'serve']);
    const [{ key }] = await Promise.all([place.createKey('app'), place.json('credit', 'add', '1000')]);
    const streams = await openStreams(serving, key, STALLING);
    const { held_usd } = await place.json<BalanceJson>('credit', 'show');
    place.write('die', '');
    assert.deepEqual(await bounded(serving.ended, 'the process exits'), { status: 1, signal: null });
    await serving.logged(/internal error: a thread died/);
    for (const stream of streams) await assert.rejects(stream.rest());
    const second = await place.serveHere();
    await second.logged(new RegExp(`charged the holds of ${STREAMS} requests left open`));
    const sources = await place.json<{ source: string; requests: number; cost_usd: string }[]>(
      ...['usage', '--by', 'source'],
    );
    assert.deepEqual(
      sources.map(({ source, requests, cost_usd }) => [source, requests, cost_usd]),
      [['held', STREAMS, held_usd]],
    );
    assert.equal(await second.stop(), 0);
    assertClean(place);
  });

  test('are shown by `config check`', async (t) => {
    const place = new Workplace(t, `journal_retention: 90d\n${TWO_THREADS}`);
    const { threads, journal_retention } = await place.json<Record<string, unknown>>('config', 'check');
    assert.deepEqual([threads, journal_retention], [2, '90d']);
    const { stdout } = await place.run(['config', 'check']);
    assert.match(stdout, /^threads +2$/m);
    assert.match(stdout, /^journal retention +90d$/m);
  });
});
