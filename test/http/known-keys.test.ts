/** A key that was used recently still has each of its requests decided by the ledger. */
import assert from 'node:assert/strict';
import test, { after, afterEach, describe } from 'node:test';
import { answering, completion } from '../support/answers.ts';
import { assertError } from '../support/expect.ts';
import { chat, startTestGateway, type TestKey } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';

const gateway = await startTestGateway();
after(() => gateway.stop());
afterEach(() => gateway.assertSettled());

/** Sends a request in one write, so that its body arrives with its headers. */
async function ask(key: TestKey, body = chat()) {
  const connection = await RawConnection.open(gateway.port);
  connection.send(gateway.rawCompletion(key, body));
  const answer = await connection.answer();
  connection.leave();
  return answer;
}

/** A key that has been used. */
async function usedKey(settings: Parameters<typeof gateway.key>[0] = {}): Promise<TestKey> {
  const key = gateway.key(settings);
  gateway.upstream.follow(answering(completion('hi')));
  for (let i = 0; i < 2; i++) assert.equal((await ask(key)).status, 200);
  return key;
}

describe('a key that was used before', () => {
  test('is rejected as soon as it is disabled, and works again once it is enabled', async () => {
    const key = await usedKey();
    gateway.setState(key, 'disabled');
    const refused = await ask(key);
    assertError(refused, 403, 'api_key_disabled');
    assert.equal(refused.headers.get('x-ratelimit-remaining-requests'), '598', 'the refusal takes nothing');
    gateway.setState(key, 'enabled');
    assert.equal((await ask(key)).status, 200);
  });

  test('is unknown as soon as it is deleted, with the limits of an unknown client', async () => {
    const key = await usedKey({ rpm: 7 });
    gateway.setState(key, 'deleted');
    for (let i = 0; i < 2; i++) {
      const refused = await ask(key);
      assertError(refused, 401, 'invalid_api_key');
      assert.equal(refused.headers.get('x-ratelimit-limit-requests'), '600');
    }
  });

  test('gets errors about its body only if the key itself is valid', async () => {
    const key = await usedKey();
    assertError(await ask(key, '{'), 400, 'invalid_request');
    gateway.setState(key, 'disabled');
    assertError(await ask(key, '{'), 403, 'api_key_disabled');
    gateway.setState(key, 'deleted');
    assertError(await ask(key, chat({ model: 'no/model' })), 401, 'invalid_api_key');
  });

  test('may call only the models on its list', async () => {
    const key = await usedKey({ allowlist: ['fake/echo'] });
    assertError(await ask(key, chat({ model: 'fake/free' })), 403, 'model_not_allowed');
    assertError(await ask(key, chat({ model: 'fake/none' })), 404, 'model_not_found');
  });

  test('is rejected before its body has arrived, once it is disabled', async () => {
    const key = await usedKey();
    gateway.setState(key, 'disabled');
    const connection = await RawConnection.open(gateway.port);
    connection.send(gateway.rawCompletion(key, chat()).slice(0, -5));
    assertError(await connection.answer(), 403, 'api_key_disabled');
    connection.leave();
  });

  test('has a body that arrives in pieces read to its end', async () => {
    const key = await usedKey();
    gateway.upstream.follow(answering(completion('hi')));
    const connection = await RawConnection.open(gateway.port);
    const whole = gateway.rawCompletion(key, chat());
    for (let at = 0; at < whole.length; at += 40) {
      connection.send(whole.slice(at, at + 40));
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal((await connection.answer()).status, 200);
    assert.equal((await gateway.upstream.call()).body.includes('Hello'), true);
    connection.leave();
  });
});
