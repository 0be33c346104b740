/**
 * Implausible usage from a provider: the gateway counts itself, and logs it once for each request.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answering, chunk, completion, DONE, streaming, USAGE, usageChunk } from '../support/answers.ts';
import { CONFIG, Workplace } from '../support/cli.ts';
import { FakeUpstream, type Script } from '../support/fake-upstream.ts';
import type { RequestJson } from '../support/request-json.ts';

const WRONG = { prompt_tokens: -1, completion_tokens: 5 };

/** What an upstream reports, and whether it is implausible. */
const ANSWERS: readonly (readonly [what: string, stream: boolean, script: Script, isUnusable: boolean])[] = [
  ['a completion with wrong usage', false, answering(completion('hi', { usage: WRONG })), true],
  [
    'a stream with wrong usage in every chunk',
    true,
    streaming(chunk('a', null, { usage: WRONG }), chunk('b', 'stop', { usage: WRONG }), usageChunk(WRONG), DONE),
    true,
  ],
  [
    'a stream with wrong usage before the right one',
    true,
    streaming(chunk('a', 'stop', { usage: WRONG }), usageChunk(), DONE),
    false,
  ],
  [
    'a stream with wrong usage behind the right one',
    true,
    streaming(chunk('a', 'stop', { usage: USAGE }), usageChunk(WRONG), DONE),
    false,
  ],
  ['a completion without usage', false, answering(completion('hi', { usage: null })), false],
  ['a stream without usage', true, streaming(chunk('a', 'stop'), DONE), false],
  ['a completion with right usage', false, answering(completion('hi')), false],
];

test('implausible usage is logged once for its request, and for no other request', async (t) => {
  const upstream = await FakeUpstream.start();
  t.after(() => upstream.close());
  const host = `  host: { kind: openai, base_url: 'http://127.0.0.1:${upstream.port}/v1', models: { m: { input: 0, output: 0 } } }\n`;
  const place = new Workplace(t, CONFIG + host);
  const serving = await place.serveHere();
  const { key } = await place.createKey('app');
  const ids: string[] = [];
  for (const [, stream, script] of ANSWERS) {
    upstream.follow(script);
    const response = await serving.chat(key, { model: 'host/m', stream });
    assert.equal(response.status, 200);
    await response.text();
    ids.push(response.headers.get('x-request-id') ?? '');
  }
  const listed = await place.json<RequestJson[]>('requests');
  // The log is complete once the process has ended.
  assert.equal(await serving.stop(), 0);
  const notes = serving.log.filter(({ msg }) => msg.includes('reported impossible usage figures'));
  for (const [index, [what, , , isUnusable]] of ANSWERS.entries()) {
    const own = notes.filter(({ request_id }) => request_id === ids[index]);
    assert.equal(own.length, isUnusable ? 1 : 0, what);
    if (isUnusable) assert.deepEqual([own[0]?.level, own[0]?.model, own[0]?.outcome], ['warn', 'host/m', 'ok'], what);
    const expected = isUnusable || what.includes('without') ? 'counted' : 'reported';
    assert.equal(listed.find(({ id }) => id === ids[index])?.source, expected, what);
  }
  assert.equal(notes.length, 2);
});
