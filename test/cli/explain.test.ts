/** `explain`: with a running gateway and without, of a body and of a request of the past. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Explanation } from '../../src/core/explanation.ts';
import { CONFIG, PROGRAM, Workplace } from '../support/cli.ts';

import { bounded } from '../support/wait.ts';

interface Explained extends Explanation {
  readonly live?: boolean;
}

const BODY = JSON.stringify({ model: 'mock/paid', messages: [{ role: 'user', content: 'hi' }], max_tokens: 10 });

function stepOf({ steps }: Explanation, name: string) {
  return steps.find(({ step }) => step === name);
}

test('`explain` asks the running gateway, goes by the state without one, and knows the past', async (t) => {
  const place = new Workplace(t);
  place.write('body.json', BODY);
  const { key } = await place.createKey('app', '--rpm', '5');
  await place.json('credit', 'add', '5');
  const cold = await place.json<Explained>('explain', 'body.json', '--key', 'app');
  assert.deepEqual([cold.status, cold.code, cold.live], [200, null, false]);

  const serving = await place.serveHere();
  const sent = await serving.chat(key, {
    model: 'mock/paid',
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 10,
  });
  await sent.text();
  const id = sent.headers.get('x-request-id') ?? '';
  const live = await place.json<Explained>('explain', 'body.json', '--key', 'app');
  assert.deepEqual([live.status, live.live], [200, true]);
  assert.partialDeepStrictEqual(stepOf(live, 'requests_per_minute'), { limit: 5, used: 1, left: 4 });
  assert.equal(stepOf(live, 'hold')?.hold_usd, stepOf(cold, 'hold')?.hold_usd);
  const fromInput = await place.run(['explain', '--key', 'app', '--path', '/v1/messages', '--json'], BODY);
  assert.equal(stepOf(JSON.parse(fromInput.stdout) as Explained, 'body')?.dialect, 'messages');

  const past = await place.json<Explained>('explain', id);
  assert.deepEqual([past.status, past.code], [200, null]);
  assert.equal(stepOf(past, 'hold')?.hold_usd, stepOf(live, 'hold')?.hold_usd);
  assert.equal(stepOf(past, 'price')?.journal, stepOf(live, 'price')?.journal);
  assert.equal(stepOf(past, 'route')?.upstream, 'mock');

  assert.equal(await serving.stop(), 0);
  const after = await place.json<Explained>('explain', 'body.json', '--key', 'app');
  assert.equal(after.live, false);
  // The request of the last minute still counts, as it does for a gateway that starts now.
  assert.partialDeepStrictEqual(stepOf(after, 'requests_per_minute'), { used: 1, left: 4 });
  assert.equal(stepOf(after, 'spend_limit')?.spent_usd, stepOf(past, 'charge')?.cost_usd);

  const [refused, nobody, nothing, none] = await place.runAll([
    ['explain', 'body.json', '--key', 'app'],
    ['explain', 'body.json', '--key', 'nobody'],
    ['explain'],
    ['explain', 'none.json', '--key', 'app'],
  ]);
  assert.match(refused?.stdout ?? '', /^200\nIt would be admitted and sent: to mock as paid\.\n\nkey +app, enabled\n/);
  assert.match(nobody?.stderr ?? '', /no such key: "nobody"/);
  assert.equal(nothing?.status, 2);
  assert.match(none?.stderr ?? '', /cannot read none\.json \(ENOENT\)/);

  const piped = JSON.parse((await place.run(['explain', '--json'], BODY)).stdout) as Explained;
  assert.deepEqual([piped.status, stepOf(piped, 'key')?.key], [200, 'app'], 'as the help shows it');
  const [alone, several] = [await place.run(['explain', 'body.json']), await place.run(['keys', 'create', 'other'])];
  assert.match(alone.stdout, /^200\n.*\n\nkey +app, enabled\n/, 'the only key is the one that is meant');
  assert.equal(several.status, 0);
  assert.match((await place.run(['explain', 'body.json'])).stderr, /--key app or --key other/);
});

test('where several keys could send it, some are named as a shell takes them', async (t) => {
  const place = new Workplace(t);
  for (const name of ['app', "Zoë's laptop"]) await place.createKey(name);
  const { status, stderr } = await place.run(['explain'], BODY);
  assert.equal(status, 1);
  assert.match(stderr, /, such as --key app or --key 'Zoë'\\''s laptop'\n$/);
});

test('a refusal names the key, and ends with what to type', async (t) => {
  const place = new Workplace(t);
  place.write('body.json', BODY);
  await place.createKey('app');
  const refusals: readonly (readonly [words: string, said: RegExp])[] = [
    ['limits show app', /^402 insufficient_credit\napp: .*\nTo let it through: inf-gw credit add 10\n/],
    ['credit add 5', /^200\n/],
    [
      'limits set app --spend-limit 0',
      /^402 spend_.*\napp: .*\nTo let it through: inf-gw limits set app --spend-limit 10\n/,
    ],
    ['limits set app --spend-limit none --budget day=0', /limits set app --budget day=10\n/],
    ['limits set app --budget none --tpm 1', /limits set app --tpm \d\d+\n/],
    ['limits set app --tpm default', /^200\n/],
    ['allowlist set app mock/echo', /^403 model_.*\napp: .*\nTo let it through: inf-gw allowlist add app mock\/paid\n/],
    ['keys disable app', /^403 api_.*\napp: .*\nTo let it through: inf-gw keys enable app\n/],
  ];
  for (const [words, said] of refusals) {
    await place.run(words.split(' '));
    assert.match((await place.run(['explain', 'body.json', '--key', 'app'])).stdout, said, words);
  }
});

test('a model whose provider is inactive names the variable to set, and the reload of a running gateway', async (t) => {
  const off = `  off: { kind: openai, base_url: http://127.0.0.1:9/v1, api_key: "\${NOT_SET_HERE}", models: { x: { input: 1, output: 2 } } }`;
  const place = new Workplace(t, `${CONFIG}${off}\n`);
  await place.createKey('app');
  const explain = async () => (await place.run(['explain'], BODY.replace('mock/paid', 'off/x'))).stdout;
  const said =
    /^404 model_not_found\napp: The model "off\/x" does not exist.*\nTo let it through: set NOT_SET_HERE in the file \.env next to the config/;
  assert.match(await explain(), new RegExp(`${said.source}\n`));
  await place.serveHere();
  assert.match(await explain(), new RegExp(`${said.source}, then inf-gw reload\n`));
  place.write('.env', 'NOT_SET_HERE=x\n');
  await place.run(['reload']);
  assert.doesNotMatch(await explain(), /model_not_found/);
});

test('without a gateway, a group that has spent its budget refuses its keys, and no others', async (t) => {
  const place = new Workplace(t);
  await place.json('groups', 'create', 'dev', '--budget', 'day=0');
  await place.createKey('app', '--in', '@dev');
  await place.createKey('alone');
  const body = JSON.stringify({ model: 'mock/echo', messages: [{ role: 'user', content: 'Hi' }] });
  const said = async (key: string) => (await place.run(['explain', '--key', key], body)).stdout;
  assert.match(await said('app'), /^402 spend_limit_reached.*The group dev has reached its budget/s);
  assert.doesNotMatch(await said('alone'), /spend_limit_reached/);
});

test('`explain` says what it waits for, where nothing comes on an open standard input', async (t) => {
  const place = new Workplace(t);
  await place.createKey('app');
  const child = spawn(process.execPath, [PROGRAM, 'explain', '--key', 'app', '--json'], { cwd: place.directory });
  t.after(() => child.kill('SIGKILL'));
  const [said] = await bounded(once(child.stderr, 'data'), 'it says what it waits for');
  assert.equal(
    String(said),
    'note: reading the body from standard input, up to its end; name a file to read that instead\n',
  );
  child.stdin.end(BODY);
  const answer = JSON.parse((await buffer(child.stdout)).toString()) as Explained;
  assert.equal(stepOf(answer, 'key')?.key, 'app');
});
