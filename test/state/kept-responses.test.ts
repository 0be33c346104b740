/** Which responses hosts keep for whom: each key finds its own, bounded in number and in time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEPT_MS, type KeptResponse, MAX_DROPPED_IDS, MAX_KEPT_IDS } from '../../src/core/kept-responses.ts';
import { onEachStore, type Stage } from './stage.ts';

const NOW = Date.now();

function response(keyId: string, id: string, more: Partial<KeptResponse> = {}): KeptResponse {
  const items = [
    { id: `msg_${id}`, tokens: 7 },
    { id: `rs_${id}`, tokens: 7 },
  ];
  return { keyId, id, tokens: 40, items, upstream: 'openai#2', model: 'openai/gpt', atMs: NOW, ...more };
}

async function countOf(stage: Stage): Promise<number | undefined> {
  const tables = Object.entries(await stage.dump());
  return tables.find(([name]) => name.endsWith('kept_responses'))?.[1].length;
}

onEachStore((open) => {
  test('a key finds its own responses and items, and none of another key', async (t) => {
    const { kept } = (await open(t)).state;
    await kept.add(response('key_a', 'r1'));
    await kept.add(response('key_b', 'r2'));
    const found = await kept.find('key_a', ['r1', 'msg_r1', 'r2', 'msg_r2', 'r3', "r' OR 1=1 --"]);
    const known = { responseId: 'r1', upstream: 'openai#2', model: 'openai/gpt' };
    assert.deepEqual(
      found.toSorted((a, b) => a.tokens - b.tokens),
      [
        { id: 'msg_r1', tokens: 7, ...known },
        { id: 'r1', tokens: 40, ...known },
      ],
    );
    assert.deepEqual(await kept.find('key_a', []), []);
    assert.deepEqual(await kept.find('key_c', ['r1', 'r2']), []);
  });

  test('a response is forgotten with its items, and only by its own key', async (t) => {
    const { kept } = (await open(t)).state;
    await kept.add(response('key_a', 'r1'));
    await kept.add(response('key_a', 'r2'));
    await kept.drop('key_b', 'r1');
    assert.equal((await kept.find('key_a', ['r1', 'msg_r1'])).length, 2);
    await kept.drop('key_a', 'r1');
    assert.deepEqual(
      (await kept.find('key_a', ['r1', 'msg_r1', 'rs_r1', 'r2'])).map(({ id }) => id),
      ['r2'],
    );
  });

  test('what is written again has what was said last', async (t) => {
    const { kept } = (await open(t)).state;
    await kept.add(response('key_a', 'r1'));
    await kept.add(response('key_a', 'r1', { tokens: 50, items: [{ id: 'r1', tokens: 1 }] }));
    assert.deepEqual(
      (await kept.find('key_a', ['r1'])).map(({ tokens }) => tokens),
      [50],
    );
  });

  test('what its host has dropped is not found, and goes with the next that is written', async (t) => {
    const stage = await open(t);
    const { kept } = stage.state;
    await kept.add(response('key_a', 'old', { atMs: NOW - KEPT_MS - 1_000 }));
    assert.deepEqual(await kept.find('key_a', ['old']), []);
    await kept.add(response('key_b', 'new'));
    assert.equal(await countOf(stage), 3);
  });

  test('of much that is too old one addition drops a part, since others wait meanwhile', async (t) => {
    const stage = await open(t);
    const { kept } = stage.state;
    const items = Array.from({ length: MAX_DROPPED_IDS + 99 }, (_, i) => ({ id: `o${i}`, tokens: 1 }));
    await kept.add(response('key_a', 'old', { items, atMs: NOW - KEPT_MS - 1_000 }));
    await kept.add(response('key_b', 'new'));
    assert.equal(await countOf(stage), 100 + 3);
    await kept.add(response('key_b', 'new'));
    assert.equal(await countOf(stage), 3);
  });

  test('a key has a bounded number of them, of which the oldest give way', async (t) => {
    const stage = await open(t);
    const many = (name: string, count: number) =>
      Array.from({ length: count }, (_, i) => ({ id: `${name}${i}`, tokens: 1 }));
    const { kept } = stage.state;
    await kept.add(response('key_a', 'first', { items: many('a', 9), atMs: NOW - 3 }));
    await kept.add(response('key_b', 'other', { items: many('b', 9), atMs: NOW - 4 }));
    // Another gateway, so that it looks at once.
    const other = (await stage.open()).kept;
    await other.add(response('key_a', 'many', { items: many('m', MAX_KEPT_IDS - 5), atMs: NOW - 2 }));
    assert.equal(await countOf(stage), MAX_KEPT_IDS + 10);
    assert.equal((await kept.find('key_a', ['many', 'm0'])).length, 2);
    assert.equal((await kept.find('key_b', ['other', 'b0', 'b8'])).length, 3);
  });

  test('gateways write the same response at once without an error', async (t) => {
    const stage = await open(t);
    const gateways = [stage.state, await stage.open(), await stage.open()];
    await Promise.all(gateways.flatMap(({ kept }) => [kept.add(response('k', 'r1')), kept.add(response('k', 'r2'))]));
    assert.equal(await countOf(stage), 6);
  });
});
