/** Responses that hosts keep, each for the key that made it: references, holds, and who finds what. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { KeepingHost } from '../hostile-dialects/keeping-host.ts';
import { ratesOf } from '../support/expect.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { sharedGateway, type TestKey, withGateway } from '../support/gateway.ts';

const PRICES = { input: 1, output: 2, max_output: 1_000, default_output: 100 };
const PROVIDER = {
  responses_state: 'per_key',
  models: {
    echo: { upstream: 'vendor-echo-1', ...PRICES },
    wide: { ...PRICES, context_window: 5_000 },
    spare: { ...PRICES, fallback: ['fake/echo'] },
  },
};
const gateway = await sharedGateway({ provider: PROVIDER });

let host: KeepingHost;
beforeEach(() => {
  host = new KeepingHost();
  gateway.upstream.follow(host.follow);
});

interface Made {
  readonly id: string;
  readonly items: readonly string[];
}

async function post(key: TestKey, fields: object = {}) {
  return gateway.post('/v1/responses', key, { model: 'fake/echo', input: 'Hello!', ...fields });
}

function madeIn(text: string): Made {
  const { id, output } = JSON.parse(text);
  return { id, items: output.map((item: { id: string }) => item.id) };
}

async function make(key: TestKey, fields: object = {}): Promise<Made> {
  const reply = await post(key, fields);
  assert.equal(reply.status, 200, reply.text);
  return madeIn(reply.text);
}

/** What a stream of it holds at its last event. */
async function makeStreamed(key: TestKey, fields: object = {}): Promise<Made> {
  const { status, text } = await post(key, { ...fields, stream: true });
  assert.equal(status, 200, text);
  const last = text.trim().split('\n\n').at(-1) ?? '';
  return madeIn(JSON.stringify(JSON.parse(last.replace(/^event: response\.completed\ndata: /, '')).response));
}

const reference = (id: string | undefined) => ({ type: 'item_reference', id });
const user = { role: 'user', content: 'And then?' };

/** The ways to refer to a response. */
const REFERRING: readonly (readonly [how: string, fields: (made: Made) => object])[] = [
  ['its id', ({ id }) => ({ previous_response_id: id })],
  ['all of its items', ({ items }) => ({ input: [...items.map(reference), user] })],
  ['an item without a type', ({ items }) => ({ input: [{ id: items[1] }, user] })],
  [
    'reasoning that is only its id',
    ({ items }) => ({ input: [{ type: 'reasoning', id: items[0], summary: [] }, user] }),
  ],
];

describe('a key refers to what its host has kept for it', () => {
  for (const [how, fields] of REFERRING) {
    for (const [what, begin] of [
      ['a response', make],
      ['a stream', makeStreamed],
    ] as const) {
      test(`by ${how}, of ${what}, over several turns, also in streams`, async () => {
        const key = gateway.key();
        const first = await begin(key);
        const second = await begin(key, fields(first));
        await begin(key, fields(second));
        assert.equal(host.bills.length, 3);
        assert.equal(JSON.parse((await gateway.upstream.call()).body).store, undefined);
        const charged = gateway.rows(key).map((row) => [row.prompt_tokens, row.completion_tokens]);
        assert.deepEqual(
          charged,
          host.bills.map(({ input, output }) => [input, output]),
        );
      });
    }
  }

  test('what it has told the host not to keep is not found', async () => {
    const key = gateway.key();
    const { id } = await make(key, { store: false });
    const reply = await post(key, { previous_response_id: id });
    assert.deepEqual([reply.status, reply.error.code], [404, 'invalid_request']);
    assert.equal(host.bills.length, 1);
  });

  test('an item that is whole needs no record, with whatever id', async () => {
    const whole = {
      type: 'message',
      role: 'assistant',
      id: 'msg_elsewhere',
      content: [{ type: 'output_text', text: 'A' }],
    };
    await make(gateway.key(), {
      input: [whole, { type: 'reasoning', id: 'rs_x', summary: [], encrypted_content: 'y' }, user],
    });
  });
});

describe('what is not of the key is not found', () => {
  const GUESSED = `resp_${'0'.repeat(48)}`;

  for (const [how, fields] of REFERRING) {
    test(`by ${how}: foreign, guessed and deleted ids read the same, and reach no host`, async () => {
      const [owner, thief, rotated] = [gateway.key(), gateway.key(), gateway.key()];
      const made = await make(owner);
      const gone = await make(rotated);
      gateway.setState(rotated, 'deleted');
      const guess = { id: GUESSED, items: made.items.map((_, i) => `msg_${String(i).repeat(48)}`) };
      const words = new Set<string>();
      const calls = gateway.upstream.calls.length;
      for (const each of [made, gone, guess]) {
        const reply = await post(thief, fields(each));
        assert.deepEqual([reply.status, reply.error.code], [404, 'invalid_request']);
        words.add(reply.error.message.replace(/_[0-9a-f]{48}/g, '_…').replace(/\brs_|\bmsg_/g, 'item_'));
        assert.deepEqual(Object.keys(JSON.parse(reply.text).error), ['code', 'message']);
      }
      assert.equal(words.size, 1, [...words].join('\n'));
      assert.match([...words][0] ?? '', /^(?:Previous response|Item) with id '\w+_…' not found\.$/);
      assert.equal(gateway.upstream.calls.length, calls);
      assert.equal(gateway.rows(thief).length, 0);
      await make(owner, fields(made));
    });
  }

  test('nor what stands beside something that is', async () => {
    const [owner, thief] = [gateway.key(), gateway.key()];
    const [own, foreign] = [await make(thief), await make(owner)];
    for (const fields of [
      { previous_response_id: own.id, input: [reference(foreign.items[0]), user] },
      { previous_response_id: foreign.id, input: [reference(own.items[0]), user] },
      { input: [reference(own.items[0]), reference(foreign.items[1]), user] },
    ]) {
      assert.equal((await post(thief, fields)).status, 404);
    }
    assert.equal(host.bills.length, 2);
  });

  test('nor at a fallback, for what is no reference at the host of the model that was asked', async () => {
    const plain = { kind: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'x' };
    const base_url = `http://127.0.0.1:${gateway.upstream.port}/v1`;
    const keeping = { ...plain, base_url, responses_state: 'per_key', models: { echo: PRICES } };
    const models = { ask: { ...PRICES, fallback: ['keeping/echo'] } };
    await withGateway({ config: { providers: { plain: { ...plain, models }, keeping } } }, async (both) => {
      const send = (key: TestKey, fields: object) => both.post('/v1/responses', key, { model: 'plain/ask', ...fields });
      const made = await send(both.key(), { input: 'Hello!' });
      assert.equal(made.status, 200, made.text);
      const stolen = { type: 'reasoning', id: madeIn(made.text).items[0], summary: [] };
      assert.equal((await send(both.key(), { input: [stolen, user] })).status, 502);
      assert.equal(host.bills.length, 1);
    });
  });

  test('nor by an item of which the host has to look up what it says', async () => {
    const [owner, thief] = [gateway.key(), gateway.key()];
    const [, id] = (await make(owner)).items;
    const calls = gateway.upstream.calls.length;
    for (const item of [
      { type: 'message', role: 'assistant' },
      { role: 'assistant', content: null },
      { type: 'function_call', call_id: 'call_1', name: 'f' },
      { type: 'custom_tool_call_output', call_id: 'call_1' },
      { type: 'web_search_call', status: 'completed', encrypted_content: 'x' },
      { type: 'reasoning', summary: [], encrypted_content: '' },
    ]) {
      const reply = await post(thief, { input: [{ ...item, id }, user] });
      assert.equal(reply.status, 404, JSON.stringify(item));
    }
    assert.equal(gateway.upstream.calls.length, calls);
  });

  test('nor behind a second field of the same name, of which a host may read the other', async () => {
    const [owner, thief] = [gateway.key(), gateway.key()];
    const [, id] = (await make(owner)).items;
    const calls = gateway.upstream.calls.length;
    for (const item of [
      `{"type":"item_reference","id":"${id}","type":"message","role":"user","content":"x"}`,
      `{"role":"user","content":"x","type":"item_reference","id":"${id}","ty\\u0070e":"message","i\\u0064":null}`,
    ]) {
      const body = `{"model":"fake/echo","input":[{"role":"user","content":"x"},${item}]}`;
      const reply = await gateway.post('/v1/responses', thief, body);
      assert.deepEqual([reply.status, reply.error.message], [400, 'input[1].type: the item has this field twice']);
    }
    assert.equal(gateway.upstream.calls.length, calls);
  });

  test('nor are ids looked up that no host makes, or more than a conversation has', async () => {
    const key = gateway.key();
    const { id, items } = await make(key);
    for (const odd of [`${id}\0`, `${id} `, '\ud800', 'x'.repeat(100_000)]) {
      assert.equal((await post(key, { previous_response_id: odd })).status, 404);
    }
    const reply = await post(key, { input: Array.from({ length: 124_000 }, () => ({ id: items[0] })) });
    assert.deepEqual([reply.status, reply.error.code], [400, 'invalid_request']);
    assert.match(reply.error.message, /^input: expected at most 10000 /);
  });

  test('nor an item in the place of a response', async () => {
    const key = gateway.key();
    const { items } = await make(key);
    assert.equal((await post(key, { previous_response_id: items[0] })).status, 404);
  });

  test('a reference of a key that may not be served is refused for that first', async () => {
    const [disabled, kept] = [gateway.key(), gateway.key({ allowlist: ['fake/wide'] })];
    gateway.setState(disabled, 'disabled');
    const fields = { previous_response_id: GUESSED };
    assert.deepEqual([(await post(disabled, fields)).status, (await post(kept, fields)).status], [403, 403]);
    const poor = gateway.key({ spendLimitNanos: 0n });
    assert.equal((await post(poor, fields)).status, 404);
  });

  test('a host that has forgotten it says so itself', async () => {
    const key = gateway.key();
    const { id } = await make(key);
    host.forgetAll();
    const reply = await post(key, { previous_response_id: id });
    assert.deepEqual([reply.status, reply.error.message], [400, `Previous response with id '${id}' not found.`]);
  });
});

describe('what a reference brings in', () => {
  const LONG = { input: 'word '.repeat(20_000) };

  /** The input tokens that a request is held for. */
  async function heldFor(key: TestKey, fields: object): Promise<number> {
    let held = 0n;
    gateway.upstream.follow((call) => {
      held = gateway.heldNanos(key);
      host.follow(call);
    });
    await make(key, { ...fields, max_output_tokens: 1 });
    return Number(held - 2_000n) / 1_000;
  }

  test('is held by the tokens of the response, and of items by those of its output', async () => {
    const key = gateway.key();
    const { id, items } = await make(key, LONG);
    const response = await heldFor(key, { previous_response_id: id });
    assert.ok(response >= 20_050 && response < 20_100, `${response}`);
    host.outputTokens = 400;
    const other = await make(key);
    const both = await heldFor(key, { input: [...other.items.map(reference), user] });
    assert.ok(both >= 400 && both < 550, `${both}`);
    const twice = await heldFor(key, { input: [...other.items, ...other.items].map(reference) });
    assert.ok(twice >= 800 && twice < 1_050, `${twice}`);
    assert.ok((await heldFor(key, { input: [reference(items[0]), user] })) < 150);
  });

  test('is more than was reported where the host has made an image, which it reads only now', async () => {
    const key = gateway.key();
    const image = { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: 'AAAA' };
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
    const response = { id: 'resp_image', object: 'response', status: 'completed', output: [image, image], usage };
    const held: number[] = [];
    gateway.upstream.follow((call) => {
      held.push(Number(gateway.heldNanos(key)) / 1_000);
      call.answer(200, response);
    });
    await make(key);
    await make(key, { previous_response_id: 'resp_image' });
    await make(key, { input: [reference('ig_1'), user] });
    const [first = 0, whole = 0, item = 0] = held;
    assert.ok(whole - first > 90_000 && item - first > 90_000, `${held}`);
  });

  test('counts in the window, and against balance and spend limit', async () => {
    const key = gateway.key();
    const { id } = await make(key, LONG);
    gateway.setLimits(key, { tpm: 41_000 });
    assert.equal((await post(key, { previous_response_id: id, max_output_tokens: 1_000 })).status, 429);
    gateway.setLimits(key, { tpm: null, spendLimitNanos: 30_000_000n });
    const fields = { previous_response_id: id, max_output_tokens: 1 };
    const replies = await Promise.all(Array.from({ length: 6 }, () => post(key, fields)));
    assert.ok(replies.every(({ status }) => [200, 402, 429].includes(status)));
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
  });

  test('of another model is the context window, or refused where nobody knows that', async () => {
    const key = gateway.key();
    const { id } = await make(key, LONG);
    const held = await heldFor(key, { model: 'fake/wide', previous_response_id: id });
    assert.ok(held >= 5_000 && held < 5_050, `${held}`);
    const wide = await make(key, { model: 'fake/wide' });
    const reply = await post(key, { previous_response_id: wide.id });
    assert.deepEqual([reply.status, reply.error.code], [400, 'invalid_request']);
    assert.match(reply.error.message, /^previous_response_id: another model has made it/);
  });

  test('is charged where the host reports nothing, and brings that in again', async () => {
    const key = gateway.key();
    host.isSilent = true;
    const { id } = await make(key, LONG);
    const next = await make(key, { previous_response_id: id });
    const [, row] = gateway.rows(key);
    assert.ok(Number(row?.prompt_tokens) >= 20_000, `${row?.prompt_tokens}`);
    assert.ok((await heldFor(key, { previous_response_id: next.id })) >= 20_000);
  });

  test('never goes to a fallback, whose host does not have it', async () => {
    const key = gateway.key();
    const { id } = await make(key, { model: 'fake/spare' });
    gateway.upstream.follow((call) => call.answer(503, {}));
    assert.equal((await post(key, { model: 'fake/spare', previous_response_id: id })).status, 502);
    const models = gateway.upstream.calls.map(({ body }) => JSON.parse(body).model);
    assert.deepEqual(new Set(models), new Set(['spare']));
  });

  test('is explained with its hold', async () => {
    const key = gateway.key();
    const { id } = await make(key, LONG);
    const body = (fields: object) => JSON.stringify({ model: 'fake/echo', input: 'x', ...fields });
    const { status, steps } = await gateway.explain(key, body({ previous_response_id: id }), '/v1/responses');
    assert.equal(status, 200);
    assert.match(JSON.stringify(steps), /20[,.]?\d{3}/);
    const guess = await gateway.explain(key, body({ previous_response_id: 'resp_0' }), '/v1/responses');
    assert.equal(guess.status, 404);
  });
});

describe('a second provider of the same host, which keeps nothing for keys,', () => {
  test('takes no item that is only its id, and no name twice', async () => {
    const upstream = await FakeUpstream.start();
    try {
      upstream.follow(new KeepingHost().follow);
      const base_url = `http://127.0.0.1:${upstream.port}/v1`;
      const models = { echo: PRICES };
      const providers = {
        fake: { kind: 'openai', base_url, api_key: 'x', responses_state: 'per_key', models },
        plain: { kind: 'openai', base_url: `${base_url}/`, api_key: 'y', models },
      };
      await withGateway({ config: { providers } }, async (own) => {
        const send = (key: TestKey, model: string, input: string) =>
          own.post('/v1/responses', key, `{"model": "${model}", "input": ${input}}`);
        const { items } = madeIn((await send(own.key(), 'fake/echo', '"x"')).text);
        const thief = own.key();
        const named = await send(
          thief,
          'plain/echo',
          JSON.stringify([{ type: 'reasoning', id: items[0], summary: [] }]),
        );
        assert.equal(named.status, 400);
        assert.match(named.error.message, /^input\[0\]\.id: the host may keep this for another key/);
        const twice = `[{"type": "message", "role": "user", "content": "x", "type": "item_reference", "id": "${items[0]}"}]`;
        assert.equal((await send(thief, 'plain/echo', twice)).status, 400);
        assert.equal((await send(thief, 'plain/echo', JSON.stringify([user]))).status, 200);
      });
    } finally {
      await upstream.close();
    }
  });
});

describe('where a provider has several accounts', () => {
  test('a reference goes to the one that has it, and nowhere else', async () => {
    const hosts = [new KeepingHost(), new KeepingHost()];
    const second = await FakeUpstream.start();
    const upstreams = (first: number) =>
      [first, second.port].map((port) => ({ base_url: `http://127.0.0.1:${port}/v1`, api_key: 'x' }));
    const first = await FakeUpstream.start();
    try {
      const provider = { ...PROVIDER, base_url: undefined, api_key: undefined, upstreams: upstreams(first.port) };
      await withGateway({ provider }, async (several) => {
        for (const [i, upstream] of [first, second].entries()) upstream.follow((hosts[i] as KeepingHost).follow);
        const key = several.key();
        const send = (fields: object) =>
          several.post('/v1/responses', key, { model: 'fake/echo', input: 'x', ...fields });
        const begun = await Promise.all(Array.from({ length: 6 }, () => send({})));
        const made = begun.map(({ text }) => madeIn(text));
        assert.ok(hosts.every(({ bills }) => bills.length > 0));
        for (const { id } of made) assert.equal((await send({ previous_response_id: id })).status, 200);
        const mixed = await Promise.all(
          made.slice(1).map(({ items }) => send({ input: [reference(made[0]?.items[0]), reference(items[0])] })),
        );
        assert.deepEqual(new Set(mixed.map(({ status }) => status)), new Set([200, 404]));
        for (const { id } of made) assert.equal((await several.request(`/v1/responses/${id}`, { key })).status, 200);
        const down = hosts[0]?.bills.length ?? 0;
        for (const upstream of [first, second]) upstream.follow((call) => call.answer(503, {}));
        assert.equal((await send({ previous_response_id: made[0]?.id })).status, 502);
        assert.equal(first.calls.length * second.calls.length, 0);
        assert.ok(down > 0);
      });
    } finally {
      await Promise.all([first.close(), second.close()]);
    }
  });
});

describe('GET and DELETE of a response', () => {
  const ask = (key: TestKey, id: string, method = 'GET') => gateway.request(`/v1/responses/${id}`, { key, method });

  test('answer for the own ones, as the host says it, and cost nothing', async () => {
    const key = gateway.key();
    const { id, items } = await make(key);
    const got = await ask(key, id);
    assert.deepEqual([got.status, madeIn(got.text)], [200, { id, items }]);
    const call = await gateway.upstream.call(2);
    assert.deepEqual([call.method, call.path, call.body], ['GET', `/base/v1/responses/${id}`, '']);
    const deleted = await ask(key, id, 'DELETE');
    assert.deepEqual([deleted.status, JSON.parse(deleted.text).deleted], [200, true]);
    for (const method of ['GET', 'DELETE']) assert.equal((await ask(key, id, method)).status, 404);
    assert.equal((await post(key, { previous_response_id: id })).status, 404);
    assert.equal((await post(key, { input: [reference(items[0])] })).status, 404);
    assert.equal(gateway.rows(key).length, 1);
  });

  test('find nothing foreign or guessed, in the same words, and delete nothing', async () => {
    const [owner, thief] = [gateway.key(), gateway.key()];
    const { id, items } = await make(owner);
    for (const method of ['GET', 'DELETE']) {
      const words = new Set<string>();
      for (const name of [id, items[0] as string, `resp_${'1'.repeat(48)}`]) {
        const reply = await ask(thief, name, method);
        assert.deepEqual([reply.status, reply.error.code], [404, 'invalid_request']);
        assert.equal(ratesOf(reply.headers).remainingRequests, 6_000, 'it takes nothing');
        words.add(reply.error.message.replace(name, '…'));
      }
      assert.deepEqual([...words], ["Response with id '…' not found."]);
    }
    assert.equal((await ask(owner, items[0] as string)).status, 404);
    const own = await ask(owner, id);
    assert.deepEqual([own.status, ratesOf(own.headers).remainingRequests], [200, 5_999]);
  });

  test('say that it is not found once the host has dropped it', async () => {
    const key = gateway.key();
    const { id } = await make(key);
    host.forgetAll();
    assert.equal((await ask(key, id)).status, 404);
    const calls = gateway.upstream.calls.length;
    assert.equal((await ask(key, id)).status, 404);
    assert.equal(gateway.upstream.calls.length, calls);
  });

  test('need a key, and a path and a method that there are', async () => {
    const { id } = await make(gateway.key());
    assert.equal((await gateway.request(`/v1/responses/${id}`)).status, 401);
    assert.equal((await ask(gateway.key(), id, 'POST')).status, 405);
    assert.equal((await ask(gateway.key(), `${id}/input_items`)).status, 404);
    assert.equal((await ask(gateway.key(), `${id}%2F..%2Fmodels`)).status, 404);
  });
});

describe('without responses_state', () => {
  test('nothing is kept, and the refusal says what to set', async () => {
    await withGateway({ provider: { models: { echo: PRICES } } }, async (plain) => {
      plain.upstream.follow(host.follow);
      const send = (fields: object) => {
        return plain.post('/v1/responses', plain.key(), { model: 'fake/echo', input: 'x', ...fields });
      };
      assert.equal((await send({})).status, 200);
      assert.equal(JSON.parse((await plain.upstream.call()).body).store, false);
      for (const fields of [{ store: true }, { previous_response_id: 'resp_1' }, { input: [reference('msg_1')] }]) {
        const { status, error } = await send(fields);
        assert.deepEqual([status, error.code], [400, 'invalid_request']);
        assert.match(error.message, /providerOptions: \{ openai: \{ store: false \} \}.*responses_state: per_key/);
      }
      assert.equal(plain.upstream.calls.length, 1);
    });
  });

  test('past reasoning goes on to the host, or is left out of a translation', async () => {
    const input = [{ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] }, user];
    for (const dialects of [['responses'], ['chat']]) {
      await withGateway({ provider: { dialects, models: { echo: PRICES } } }, async (plain) => {
        plain.upstream.follow((call) => call.answer(503, {}));
        const { status } = await plain.post('/v1/responses', plain.key(), { model: 'fake/echo', input });
        assert.deepEqual([status, plain.upstream.calls.length], [502, 1]);
      });
    }
  });

  test('background, conversations and prompts of the provider are refused with it, too', async () => {
    for (const fields of [{ background: true }, { conversation: 'conv_1' }, { prompt: { id: 'pmpt_1' } }]) {
      assert.equal((await post(gateway.key(), fields)).status, 400);
    }
    assert.equal(host.bills.length, 0);
  });
});
