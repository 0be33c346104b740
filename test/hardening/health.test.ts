/** Health checks at an address of their own, which clients cannot fill. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chat, startTestGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';

test('health checks are answered at their own address, and nothing else is', async () => {
  const gateway = await startTestGateway({ config: { health: '127.0.0.1:0' } });
  const answer = async (path: string) => {
    const response = await fetch(gateway.healthUrl + path);
    assert.match(response.headers.get('x-request-id') ?? '', /^req_/);
    return [response.status, await response.text()];
  };
  assert.deepEqual(await answer('/healthz'), [200, '{"status":"ok"}']);
  assert.deepEqual(await answer('/readyz'), [200, '{"status":"ready"}']);
  assert.deepEqual(await answer('/v1/models'), [404, 'There is nothing here but /healthz and /readyz.\n']);
  assert.equal((await gateway.request('/healthz')).status, 200);
  await gateway.stop();
});

test('a gateway that drains says so there, until its last request has ended', async () => {
  const gateway = await startTestGateway({ config: { health: '127.0.0.1:0' } });
  const url = `${gateway.healthUrl}/readyz`;
  const connection = await RawConnection.open(gateway.port);
  gateway.upstream.follow(() => {});
  connection.send(gateway.rawCompletion(gateway.key(), chat()));
  const call = await gateway.upstream.call();
  const drained = gateway.drain(60_000);
  const response = await fetch(url);
  assert.deepEqual([response.status, await response.text()], [503, '{"status":"draining"}']);
  call.reset();
  await drained;
  await assert.rejects(fetch(url));
  await gateway.stop();
});
