/** Failover as the operator sees it: commands, live figures, reload, and stopping a request. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { completion } from '../support/answers.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { type Fields, Place } from '../support/place.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/wait.ts';
import { type Host, providerOf, refusing, serving } from './stage.ts';

/** The cost of ten tokens of input and five of output. */
const COST_USD = '0.020';
const MODEL = { input: 1000, output: 2000 };

interface RequestJson {
  readonly id: string;
  readonly model: string;
  readonly requested_model: string;
  readonly upstream: string | null;
  readonly attempts: number | null;
}

describe('with two upstreams and a fallback model', () => {
  const cleanUps: (() => void | Promise<void>)[] = [];
  let place: Place;
  let hosts: readonly [FakeUpstream, FakeUpstream, FakeUpstream];

  const fields = (more: Fields = {}): Fields => ({
    providers: {
      main: providerOf(hosts.slice(0, 2), { models: { model: { ...MODEL, fallback: ['spare/model'] } } }),
      spare: providerOf(hosts.slice(2), { models: { model: MODEL } }),
    },
    ...more,
  });
  const reload = (more: Fields = {}) => place.reload(fields(more));

  before(async () => {
    hosts = [await FakeUpstream.start(), await FakeUpstream.start(), await FakeUpstream.start()];
    place = await Place.open({ after: (cleanUp) => void cleanUps.push(cleanUp) }, fields());
  });
  after(async () => {
    try {
      await place.stop();
    } finally {
      for (const cleanUp of cleanUps) await cleanUp();
      for (const host of hosts) await host.close();
    }
  });

  const follow = (...scripts: Parameters<FakeUpstream['follow']>[0][]) => {
    for (const [i, host] of hosts.entries()) host.follow(scripts[i] ?? serving('hi'));
  };

  test('requests, and usage by model, name who served', async () => {
    await reload();
    follow(refusing(503), refusing(503));
    const key = place.key();
    const response = await place.chat(key, { model: 'main/model' });
    assert.equal(response.status, 200);
    await response.json();
    const id = response.headers.get('x-request-id') ?? '';
    const shown = await place.json<RequestJson>('requests', 'show', id);
    assert.deepEqual(
      [shown.model, shown.requested_model, shown.upstream, shown.attempts],
      ['spare/model', 'main/model', 'spare', 3],
    );
    const [listed] = await place.json<RequestJson[]>('requests', 'list', '--key', key.id);
    assert.deepEqual(listed, shown);
    const usage = await place.json<Fields[]>('usage', '--by', 'model', '--key', key.id);
    assert.deepEqual(
      usage.map(({ model, requests, errors, cost_usd }) => [model, requests, errors, Number(cost_usd)]),
      [['spare/model', 1, 0, Number(COST_USD)]],
    );
    const { stdout } = await place.run(['requests', 'show', id]);
    assert.match(stdout, /spare\/model \(fallback for main\/model\)/);
    assert.match(stdout, /spare, after 3 attempts/);
    assert.equal((await place.run(['audit'])).status, 0);
  });

  test('the live figures show the state of each upstream', async () => {
    await reload();
    follow(refusing(503, { 'retry-after': '60' }));
    const key = place.key();
    for (let i = 0; i < 3; i++) await (await place.chat(key, { model: 'main/model' })).text();
    const { upstreams, recent } = await place.snapshot();
    const figures = upstreams.map(({ upstream, state, requests, failures }) => [upstream, state, requests, failures]);
    // Those of the previous test count too: they are within the last minute.
    assert.deepEqual(
      figures.map(([upstream, state]) => [upstream, state]),
      [
        ['main#1', 'backing_off'],
        ['main#2', 'closed'],
        ['spare', 'closed'],
      ],
    );
    assert.match(upstreams[0]?.last_failure?.message ?? '', /answered 503/);
    const row = recent.find(({ attempts }) => attempts === 2);
    assert.deepEqual([row?.model, row?.upstream], ['main/model', 'main#2']);
    const status = await place.run(['status']);
    assert.match(status.stdout, /main#1 +backing off/);
  });

  test('a reload during the first attempt leaves the request with its original upstreams', async () => {
    await reload();
    const release = Promise.withResolvers<void>();
    follow(async (call) => {
      await release.promise;
      refusing(503)(call);
    });
    const key = place.key();
    const waiting = place.chat(key, { model: 'main/model' });
    await hosts[0].call();
    await reload({ providers: { other: providerOf([hosts[2]], { models: { model: MODEL } }) } });
    release.resolve();
    const response = await waiting;
    assert.deepEqual([response.status, await response.json()], [200, completion('hi')]);
    assert.equal(hosts[1].calls.length, 1);
    assert.equal(await place.outcome(key, { model: 'main/model' }), '404 model_not_found');
  });

  test('a request that is stopped during its first attempt is not retried', async () => {
    await reload();
    follow(() => {});
    const key = place.key();
    const waiting = place.chat(key, { model: 'main/model' });
    await hosts[0].call();
    await until(async () => (await place.snapshot()).live.length === 1);
    const [live] = (await place.snapshot()).live;
    assert.deepEqual([live?.upstream, live?.attempts], ['main#1', 1]);
    assert.equal((await place.ask('POST', `/stop-request?id=${live?.id}`)).status, 200);
    const response = await waiting;
    assert.equal(response.status, 502);
    await response.json();
    assert.deepEqual(
      hosts.map(({ calls }) => calls.length),
      [1, 0, 0],
    );
    const { upstreams } = await place.snapshot();
    assert.equal(upstreams[0]?.in_flight, 0);
  });

  test('the official client does not notice a dead upstream, and does not retry if all of them are dead', async () => {
    const dead = { port: await freePort() };
    const providers = (...all: Host[]) => ({
      providers: { main: providerOf(all, { models: { model: MODEL } }) },
    });
    await reload(providers(dead, hosts[1]));
    follow();
    let sent = 0;
    const client = new OpenAI({
      baseURL: `${place.serving.url}/v1`,
      apiKey: place.key().secret,
      fetch: (url, init) => {
        sent++;
        return fetch(url, init);
      },
    });
    const messages = [{ role: 'user' as const, content: 'hello' }];
    const ask = () => client.chat.completions.create({ model: 'main/model', messages });
    for (let i = 0; i < 3; i++) assert.equal((await ask()).choices[0]?.message.content, 'hi');
    let text = '';
    const stream = await client.chat.completions.create({ model: 'main/model', messages, stream: true });
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    assert.equal(text, 'hi');
    assert.equal(sent, 4);
    await reload(providers(dead, { port: await freePort() }));
    sent = 0;
    await assert.rejects(ask(), OpenAI.InternalServerError);
    assert.equal(sent, 1, 'x-should-retry: false');
  });
});
