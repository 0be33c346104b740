/** `requests list`, `show` and `stop` on requests that went through a real gateway. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { answering, chunk, completion, DONE, streaming, USAGE, usageChunk } from '../support/answers.ts';
import { CONCURRENCY, CONFIG, linesOf, type NewKeyJson, PROGRAM, type Serving, Workplace } from '../support/cli.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import type { RequestJson } from '../support/request-json.ts';
import { until } from '../support/wait.ts';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const CONFIG_PRICE = { extras_usd: {}, service_tier: null, above_tokens: null, price_file: null };
const say = (content: string) => [{ role: 'user', content }];

interface Site {
  readonly place: Workplace;
  readonly serving: Serving;
  readonly upstream: FakeUpstream;
  readonly app: NewKeyJson;
}

/**
 * A gateway with a key `app`, ten USD of credit, the mock, and a host with models at 0.001 USD a
 * token.
 */
async function openSite(test: TestContext): Promise<Site> {
  const upstream = await FakeUpstream.start();
  test.after(() => upstream.close());
  const models = '{ model: { input: 1000, cached_input: 500, output: 1000, max_output: 1000 } }';
  const host = `  host: { kind: openai, base_url: 'http://127.0.0.1:${upstream.port}/v1', models: ${models} }\n`;
  const place = new Workplace(test, CONFIG + host);
  const app = await place.createKey('app');
  await place.json('credit', 'add', '10');
  return { place, serving: await place.serveHere(), upstream, app };
}

/** Sends a request, reads the response to its end, and returns the request id. */
async function idOf(sent: Promise<Response>): Promise<string> {
  const response = await sent;
  await response.text();
  return response.headers.get('x-request-id') ?? '';
}

/** A stream whose first chunk has arrived and whose rest never does. */
async function openStream(serving: Serving, key: string, fields: Record<string, unknown>) {
  const response = await serving.chat(key, { ...fields, stream: true, messages: say('/stall 1') });
  const reader = response.body?.getReader();
  await reader?.read();
  return { id: response.headers.get('x-request-id') ?? '', close: () => reader?.cancel() };
}

describe('requests', { concurrency: CONCURRENCY }, () => {
  test('are filtered by model and time, as CSV with the same fields, and followed as they end', async (t) => {
    const { place, serving, app } = await openSite(t);
    const other = await place.createKey('other');
    const echo = await idOf(serving.chat(app.key, { model: 'mock/echo' }));
    const paid = await idOf(serving.chat(app.key, { model: 'mock/paid', max_tokens: 1 }));
    const idsOf = async (...words: string[]) =>
      (await place.json<RequestJson[]>('requests', ...words)).map(({ id }) => id);
    assert.deepEqual(await idsOf('--model', 'mock/paid'), [paid]);
    assert.deepEqual(await idsOf('--until', '2020-01-01'), []);
    assert.deepEqual(await idsOf('--since', '1h', '--until', '2999-01-01'), [paid, echo]);
    const [csv] = await place.runAll([['requests', '--csv']]);
    const [head = '', ...lines] = linesOf(csv?.stdout ?? '');
    assert.match(
      head,
      /^id,completion_id,key,key_id,model,.*,cost_usd,held_usd,corrected_at,failure_reason,failure_message$/,
    );
    assert.deepEqual(
      lines.map((line) => line.split(',')[0]),
      [paid, echo],
    );
    const following = place.launch([PROGRAM, 'requests', '--follow', '--json', '--key', 'app']);
    const sent: string[] = [];
    await until(async () => {
      sent.push(await idOf(serving.chat(app.key)));
      await idOf(serving.chat(other.key));
      return linesOf(following.output).length > 0;
    });
    await serving.stop();
    assert.deepEqual(await following.ended, { status: 0, signal: null });
    const followed = linesOf(following.output).map((line) => JSON.parse(line) as RequestJson);
    // The first ones may have ended before the command asked, the last ones after.
    const first = sent.indexOf(followed[0]?.id ?? '');
    assert.deepEqual(
      followed.map(({ id }) => id),
      sent.slice(first, first + followed.length),
    );
    const [none] = await place.runAll([['requests', '--follow']]);
    assert.deepEqual([none?.status, none?.stdout], [1, '']);
    assert.match(none?.stderr ?? '', /no gateway of this config is running here/);
  });

  test('`requests list` has every admitted request that has ended, latest first, and no refused one', async (t) => {
    const { place, serving, app } = await openSite(t);
    const other = await place.createKey('other');
    const ok = await idOf(serving.chat(app.key));
    const failed = await idOf(serving.chat(app.key, { messages: say('/error 503') }));
    const ofOther = await idOf(serving.chat(other.key));
    const wrong = await idOf(serving.chat(other.key, { messages: say('/error 400') }));
    await idOf(serving.chat(app.key, { model: 'mock/nothing' }));
    const open = await openStream(serving, app.key, {});
    const questions: readonly (readonly [words: string, ids: readonly string[]])[] = [
      ['list', [wrong, ofOther, failed, ok]],
      ['', [wrong, ofOther, failed, ok]],
      ['list --key app', [failed, ok]],
      [`list --key ${other.id}`, [wrong, ofOther]],
      ['list --errors', [wrong, failed]],
      ['list --errors --key app', [failed]],
      ['list --limit 1', [wrong]],
      ['list --limit 3 --since 1h', [wrong, ofOther, failed]],
      ['list --since 9999-01-01', []],
      ['list --since 2020-01-01 --limit 100000', [wrong, ofOther, failed, ok]],
    ];
    const answers = await place.runAll(
      questions.map(([words]) => `requests ${words} --json`.replace('  ', ' ').split(' ')),
    );
    for (const [index, [words, ids]] of questions.entries()) {
      const listed = JSON.parse(answers[index]?.stdout ?? '') as RequestJson[];
      assert.deepEqual(
        listed.map(({ id }) => id),
        ids,
        words,
      );
    }
    await open.close();

    await place.run(['keys', 'delete', 'other', '--yes']);
    const ofDeleted = await place.json<RequestJson[]>('requests', 'list', '--key', 'other');
    assert.deepEqual(
      ofDeleted.map(({ id, key }) => `${id} ${key}`),
      [`${wrong} other`, `${ofOther} other`],
    );
  });

  test('`requests list --refused` has what the gateway refused, with who it was and why, and says since when', async (t) => {
    const { place, serving, app } = await openSite(t);
    const tight = await place.createKey('tight', '--rpm', '1');
    await idOf(serving.chat(tight.key));
    const limited = await idOf(serving.chat(tight.key, { user: 'anna' }));
    const unknown = await idOf(serving.chat(app.key, { model: 'mock/nothing' }));
    const [all, ofTight, one, ofAnna, ofZoe, people, peopleOfZoe] = await place.runAll(
      [
        '--json',
        '--key tight --json',
        '--limit 1 --json',
        '--user anna --json',
        '--user zoe --json',
        '',
        '--user zoe',
      ].map((words) => `requests list --refused ${words}`.trim().split(' ')),
    );
    const rowsOf = (answer: typeof all) => JSON.parse(answer?.stdout ?? '') as Record<string, unknown>[];
    assert.deepEqual(
      rowsOf(all).map(({ id }) => id),
      [unknown, limited],
    );
    assert.deepEqual(
      rowsOf(one).map(({ id }) => id),
      [unknown],
    );
    assert.deepEqual(rowsOf(ofAnna), rowsOf(ofTight));
    assert.deepEqual(rowsOf(ofZoe), []);
    const [row] = rowsOf(ofTight);
    assert.deepEqual(
      [row?.id, row?.key, row?.user, row?.outcome, row?.reason, row?.state],
      [limited, 'tight', 'anna', 'rate_limited', 'requests_per_minute', 'refused'],
    );
    assert.match(people?.stdout ?? '', new RegExp(`tight .* rate_limited .* ${limited}`));
    assert.match(peopleOfZoe?.stdout ?? '', /^No such requests\.$/m, 'others were refused');
    assert.deepEqual(await place.json('requests', 'show', limited), row);
    const [shown, explained] = await place.runAll([
      ['requests', 'show', limited],
      ['explain', limited],
    ]);
    assert.match(shown?.stdout ?? '', /^key +tight$.*^outcome +rate_limited$.*^message +1 request/ms);
    assert.match(
      explained?.stdout ?? '',
      /^429 rate_limited\n.*^key +tight$.*^requests per minute +refused: 1 request/ms,
    );
    const [late, ofModel] = await place.runAll([
      ['requests', '--refused', '--until', '2020-01-01', '--json'],
      ['requests', '--refused', '--model', 'mock/echo', '--json'],
    ]);
    assert.deepEqual(rowsOf(late as typeof all), []);
    assert.deepEqual(
      rowsOf(ofModel as typeof all).map(({ id }) => id),
      [limited],
    );
    await serving.stop();
    const [gone, forgotten] = await place.runAll([
      ['requests', 'list', '--refused'],
      ['requests', 'show', limited],
    ]);
    assert.deepEqual([gone?.status, forgotten?.status], [1, 1]);
    assert.match(
      gone?.stderr ?? '',
      /no gateway of this config is running here, and refused requests are kept only while one runs/,
    );
    assert.match(
      forgotten?.stderr ?? '',
      /no such request: .* it may have been refused by a gateway that has stopped since/,
    );
  });

  test('a request has the same JSON in the list and on its own, with everything the journal has', async (t) => {
    const { place, serving, upstream, app } = await openSite(t);
    const usage = { ...USAGE, prompt_tokens_details: { cached_tokens: 4 } };
    upstream.follow(answering(completion('hi', { id: 'chatcmpl-9xK', usage })));
    const id = await idOf(serving.chat(app.key, { model: 'host/model', max_tokens: 100 }));
    const [listed] = await place.json<RequestJson[]>('requests');
    const { admitted_at, settled_at, first_byte_ms, duration_ms, ...fixed } = listed as RequestJson;
    assert.deepEqual(fixed, {
      id,
      completion_id: 'chatcmpl-9xK',
      key: 'app',
      key_id: app.id,
      model: 'host/model',
      requested_model: 'host/model',
      user: null,
      tag: null,
      app: 'node',
      upstream: 'host',
      attempts: 1,
      state: 'ended',
      outcome: 'ok',
      source: 'reported',
      prompt_tokens: 10,
      cached_tokens: 4,
      cache_write_tokens: 0,
      completion_tokens: 5,
      total_tokens: 15,
      cost_usd: '0.013000',
      held_usd: '0.104000',
      price: { ...CONFIG_PRICE, input_usd: '1000.00', cached_input_usd: '500.00', output_usd: '1000.00' },
      failure: null,
      corrected_at: null,
    });
    assert.match(admitted_at, TIME);
    assert.match(settled_at ?? '', TIME);
    assert.equal(duration_ms, Date.parse(settled_at ?? '') - Date.parse(admitted_at));
    assert.ok(Number.isInteger(first_byte_ms) && (first_byte_ms ?? -1) >= 0);
    for (const name of [id, 'chatcmpl-9xK']) {
      assert.deepEqual(await place.json('requests', 'show', name), listed, name);
    }
    const shown = await place.run(['requests', 'show', id]);
    for (const part of [/app \(key_/, /host\/model/, /chatcmpl-9xK/, /10 in \(4 cached\), 5 out/, /0\.013000 USD/]) {
      assert.match(shown.stdout, part);
    }
  });

  test('why a request failed is in the list, on its own, and in the JSON', async (t) => {
    const { place, serving, upstream, app } = await openSite(t);
    const ok = await place.run(['requests', 'list']);
    upstream.follow(answering({ error: { message: 'Incorrect API key', code: 'invalid_api_key' } }, 401));
    const id = await idOf(serving.chat(app.key, { model: 'host/model' }));
    upstream.follow((call) => call.reset());
    const broken = await idOf(serving.chat(app.key, { model: 'host/model' }));
    const [text, json, shown, list] = await place.runAll([
      ['requests', 'show', id],
      ['requests', 'show', id, '--json'],
      ['requests', 'show', broken, '--json'],
      ['requests', 'list', '--errors'],
    ]);
    const message = 'upstream 401: check the api_key of the provider (invalid_api_key)';
    assert.match(text?.stdout ?? '', /^failure +upstream 401: check the api_key of the provider \(invalid_api_key\)/m);
    const { failure } = JSON.parse(json?.stdout ?? '') as RequestJson;
    assert.deepEqual(failure, { reason: 'http_status', status: 401, message });
    assert.deepEqual((JSON.parse(shown?.stdout ?? '') as RequestJson).failure, {
      reason: 'broken',
      status: null,
      message: 'the connection was lost (ECONNRESET)',
    });
    assert.match(list?.stdout ?? '', /^ADMITTED.* FAILURE$/m);
    assert.match(list?.stdout ?? '', new RegExp(`${id} +upstream 401: check the api_key of the provider`));
    assert.doesNotMatch(ok.stdout, /FAILURE/);
  });

  test('a stream is found by its completion id; one that never got any, only by its request id', async (t) => {
    const { place, serving, upstream, app } = await openSite(t);
    const strange = `-chatcmpl-"'%_;--<>&|$(x)`;
    const named = { id: strange };
    upstream.follow(streaming(chunk('a', null, named), chunk('b', 'stop', named), usageChunk(), DONE));
    const streamed = await idOf(serving.chat(app.key, { model: 'host/model', stream: true }));
    upstream.follow(answering(completion('hi', { id: 'has\u001b[31m control characters' })));
    const unnamed = await idOf(serving.chat(app.key, { model: 'host/model' }));
    const [byCompletion, byId, other] = await place.runAll([
      ['requests', 'show', '--json', '--', strange],
      ['requests', 'show', streamed, '--json'],
      ['requests', 'show', unnamed, '--json'],
    ]);
    assert.equal(byCompletion?.stderr, '');
    const request = JSON.parse(byCompletion?.stdout ?? '') as RequestJson;
    assert.deepEqual([request.id, request.completion_id, request.source], [streamed, strange, 'reported']);
    assert.deepEqual(JSON.parse(byId?.stdout ?? ''), request);
    assert.equal((JSON.parse(other?.stdout ?? '') as RequestJson).completion_id, null);
  });

  test('a request in flight can be shown: what it holds is known, and nothing about its end', async (t) => {
    const { place, serving, app } = await openSite(t);
    const open = await openStream(serving, app.key, { model: 'mock/paid', max_tokens: 100 });
    const { admitted_at, ...request } = await place.json<RequestJson>('requests', 'show', open.id);
    assert.match(admitted_at, TIME);
    assert.deepEqual(request, {
      id: open.id,
      completion_id: null,
      key: 'app',
      key_id: app.id,
      model: 'mock/paid',
      requested_model: 'mock/paid',
      user: null,
      tag: null,
      app: null,
      upstream: null,
      attempts: null,
      state: 'in_flight',
      outcome: null,
      source: null,
      settled_at: null,
      first_byte_ms: null,
      duration_ms: null,
      prompt_tokens: null,
      cached_tokens: null,
      cache_write_tokens: null,
      completion_tokens: null,
      total_tokens: null,
      cost_usd: null,
      failure: null,
      held_usd: '0.207000',
      price: { ...CONFIG_PRICE, input_usd: '1000.00', cached_input_usd: '1000.00', output_usd: '2000.00' },
      corrected_at: null,
    });
    const shown = await place.run(['requests', 'show', open.id]);
    assert.match(shown.stdout, /state +in flight/);
    await open.close();
  });

  test('an unknown id is an error of one line, whatever it looks like', async (t) => {
    const place = new Workplace(t);
    await place.createKey('app');
    const ids = ['req_none', "'; DROP TABLE journal; --", '%', '', ' ', '\u001b[31mred\nnew line', '😀', '../../etc'];
    const answers = await place.runAll(ids.map((id) => ['requests', 'show', id]));
    for (const [index, { status, stdout, stderr }] of answers.entries()) {
      assert.equal(status, 1, `${ids[index]}`);
      assert.equal(stdout, '');
      const lines = linesOf(stderr);
      assert.equal(lines.length, 1, stderr);
      assert.match(lines[0] ?? '', /^error: no such request: "/);
      assert.ok(!stderr.includes('\u001b'));
    }
    const [empty, json, noKey] = await place.runAll([
      ['requests'],
      ['requests', 'list', '--json'],
      ['requests', 'list', '--key', 'nobody'],
    ]);
    assert.deepEqual([empty?.status, json?.stdout.trim(), noKey?.status], [0, '[]', 1]);
  });

  test('a request in flight is stopped by its id, one that has ended is not', async (t) => {
    const { place, serving, app } = await openSite(t);
    const sent = serving.chat(app.key, { stream: true, messages: say('/stall 1') });
    const id = (await sent).headers.get('x-request-id') ?? '';
    const [stopped] = await place.runAll([['requests', 'stop', id]]);
    assert.deepEqual(stopped, { status: 0, stdout: `Stopped ${id}.\n`, stderr: '' });
    assert.match(await (await sent).text(), /The gateway operator stopped this request/);
    const again = await place.run(['requests', 'stop', id]);
    const message = `error: no request in flight has the id "${id}"; it may have ended\n`;
    assert.deepEqual(again, { status: 1, stdout: '', stderr: message });
    assert.equal(await serving.stop(), 0);
    assert.equal((await place.run(['requests', 'stop', id])).stderr, message);
  });

  test('a usage error ends with status 2', async (t) => {
    const place = new Workplace(t);
    const wrong = [
      'list --limit 0',
      'list --limit x',
      'list --limit 100001',
      'list --since never',
      'show',
      'show a b',
      'stop',
      'tell',
    ];
    const answers = await place.runAll(wrong.map((words) => ['requests', ...words.split(' ')]));
    assert.deepEqual(
      answers.map(({ status }) => status),
      wrong.map(() => 2),
    );
  });

  test('for people, the requests are in a table that says when there may be more', async (t) => {
    const { place, serving, app } = await openSite(t);
    const ids = [await idOf(serving.chat(app.key)), await idOf(serving.chat(app.key))];
    const [all, one] = await place.runAll([['requests'], ['requests', '--limit', '1']]);
    const lines = linesOf(all?.stdout ?? '');
    assert.match(lines[0] ?? '', /^ADMITTED \(UTC\) +KEY +MODEL +OUTCOME .*COST \(USD\) +SOURCE +ID$/);
    assert.deepEqual(
      lines.slice(1).map((line) => line.split(/ +/).at(-1)),
      ids.toReversed(),
    );
    assert.match(one?.stdout ?? '', /^Only the latest is shown; use --limit for more\.$/m);
    assert.equal(linesOf(one?.stdout ?? '').length, 3);
  });
});

test('where nothing was requested yet, `requests` says so, and of a filter that nothing passes it', async (t) => {
  const [all, errors] = await new Workplace(t).runAll([['requests'], ['requests', '--errors']]);
  assert.deepEqual([all?.stdout, errors?.stdout], ['No requests yet.\n', 'No such requests.\n']);
});
