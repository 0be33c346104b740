/** The cache of answers over the ends of processes: a kill, a takeover, and several threads with one file. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import { CONFIG, PROGRAM, type Serving, Workplace } from '../support/cli.ts';
import { FakeUpstream, type UpstreamCall } from '../support/fake-upstream.ts';
import type { Scope } from '../support/run-scope.ts';
import { until } from '../support/wait.ts';

interface Site {
  readonly place: Workplace;
  readonly upstream: FakeUpstream;
  readonly key: string;
  /** How often the host was asked. */
  asked: number;
}

const MODEL = 'host/kept';

async function openSite(scope: Scope): Promise<Site> {
  const upstream = await FakeUpstream.start();
  scope.after(() => upstream.close());
  const host = `  host:
    kind: openai
    base_url: http://127.0.0.1:${upstream.port}/v1
    models: { kept: { input: 1, output: 2, max_output: 100, cache: { ttl: 1h } } }
`;
  const place = new Workplace(scope, `threads: 2\n${CONFIG}${host}`);
  const { key } = await place.createKey('app');
  await place.json('credit', 'add', '5');
  const site: Site = { place, upstream, key, asked: 0 };
  upstream.follow((call) => call.answer(200, completion(`answer ${++site.asked}`)));
  return site;
}

async function ask(serving: Serving, { key }: Site, seed: number): Promise<{ hit: boolean; text: string }> {
  const reply = await serving.chat(key, { model: MODEL, max_tokens: 50, seed });
  const text = await reply.text();
  assert.equal(reply.status, 200, text);
  return { hit: reply.headers.get('x-inf-gw-cache') === 'hit', text };
}

/** Asks until the answer is in the file, and returns it. */
async function kept(serving: Serving, site: Site, seed: number): Promise<string> {
  let text = '';
  await until(async () => {
    const answer = await ask(serving, site, seed);
    text = answer.text;
    return answer.hit;
  });
  return text;
}

async function assertSound({ place }: Site): Promise<void> {
  assert.equal((await place.json<{ ok: boolean }>('audit')).ok, true);
}

test('threads share what is kept, and what they have saved is counted once for each hit', async (t) => {
  const site = await openSite(t);
  const serving = await site.place.serve();
  const first = await kept(serving, site, 1);
  const { asked } = site;
  const answers = await Promise.all(Array.from({ length: 24 }, () => ask(serving, site, 1)));
  assert.deepEqual(new Set(answers.map(({ text }) => text)), new Set([first]));
  assert.ok(answers.every(({ hit }) => hit));
  assert.equal(site.asked, asked);
  assert.equal(await serving.stop(), 0);
  const [usage] = await site.place.json<{ requests: number; cache_hits: number; cost_usd: string }[]>('usage');
  assert.equal(usage?.cache_hits, Number(usage?.requests) - asked);
  await assertSound(site);
});

describe('after a kill', () => {
  test('what was kept is given again, and what was not whole is asked for', async (t) => {
    const site = await openSite(t);
    const first = await site.place.serve();
    const before = await kept(first, site, 1);
    // Others are on their way into the file, into it, and to the host.
    const load = Array.from({ length: 40 }, (_, seed) => ask(first, site, 100 + seed).catch(() => undefined));
    await until(() => site.asked > 10);
    first.signal('SIGKILL');
    await first.ended;
    await Promise.all(load);
    const second = await site.place.serve();
    const { asked } = site;
    assert.deepEqual(await ask(second, site, 1), { hit: true, text: before });
    assert.equal(site.asked, asked);
    for (let seed = 100; seed < 140; seed++) JSON.parse((await ask(second, site, seed)).text);
    assert.equal(await second.stop(), 0);
    await assertSound(site);
  });
});

test('over a takeover both processes have one file: the old one keeps what it still answers, the new one gives it', async (t) => {
  const site = await openSite(t);
  const first = await site.place.serve();
  const before = await kept(first, site, 1);
  const calls: UpstreamCall[] = [];
  site.upstream.follow((call) => {
    call.stream();
    call.send(chunk('begun'));
    calls.push(call);
  });
  const fields = { model: MODEL, stream: true, max_tokens: 50 };
  const open = await first.chat(site.key, fields);
  await until(() => calls.length === 1);
  const second = await site.place.serve([PROGRAM, 'serve', '--takeover']);
  assert.deepEqual(await ask(second, site, 1), { hit: true, text: before });
  calls[0]?.send(chunk('!', 'stop') + usageChunk() + DONE);
  calls[0]?.end();
  const streamed = await open.text();
  assert.equal((await first.ended).status, 0);
  const again = await second.chat(site.key, fields);
  assert.deepEqual([again.headers.get('x-inf-gw-cache'), await again.text()], ['hit', streamed]);
  assert.equal(calls.length, 1);
  assert.equal(await second.stop(), 0);
  assert.doesNotMatch(first.text + second.text, /cache of answers failed/);
  await assertSound(site);
});
