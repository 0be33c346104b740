/**
 * Several threads behind one address: they share its connections and limits, and agree on the state
 * file.
 */
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import test, { describe } from 'node:test';
import { connectLedger } from '../../src/ledger/calls.ts';
import { startLedger } from '../../src/ledger/client.ts';
import { answering, completion } from '../support/answers.ts';
import { assertError } from '../support/expect.ts';
import { chat, type TestGateway, withGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';
import { until } from '../support/wait.ts';

/** Enough that the chance of all going to the same one of two threads is below one in a billion. */
const CONNECTIONS = 32;
const THREADS = 2;

/** The answers on many new connections, which together reach every thread. */
async function statusesOf(gateway: TestGateway, path: string): Promise<ReadonlySet<string>> {
  const answers = Array.from({ length: CONNECTIONS }, async () => {
    const connection = await gateway.sending(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const { status, body } = await connection.answer();
    connection.leave();
    return `${status} ${JSON.parse(body).status}`;
  });
  return new Set(await Promise.all(answers));
}

async function allReport(gateway: TestGateway, path: string, status: string): Promise<void> {
  await until(async () => [...(await statusesOf(gateway, path))].join() === status);
}

describe('threads of one gateway', () => {
  for (const threads of [2, 3]) {
    test(`share the connections to one port that the system chose: ${threads} of them`, () =>
      withGateway({ config: { threads } }, async (gateway) => {
        const key = gateway.key({ concurrency: 2 * CONNECTIONS });
        const release = gateway.upstream.followLater(answering(completion('hi')));
        const connections = await Promise.all(
          Array.from({ length: 2 * CONNECTIONS }, () => RawConnection.open(gateway.port)),
        );
        for (const connection of connections) connection.send(gateway.rawCompletion(key, chat()));
        await gateway.upstream.call(connections.length);
        const shares = await gateway.inFlightByThread();
        assert.equal(shares.length, threads);
        assert.equal(
          shares.reduce((sum, share) => sum + share, 0),
          connections.length,
        );
        assert.ok(!shares.includes(0), `the shares were ${shares}`);
        assert.equal(await gateway.inFlight(), connections.length);
        assert.equal(gateway.holds(key), connections.length);
        release();
        for (const connection of connections) {
          assert.equal((await connection.answer()).status, 200);
          connection.leave();
        }
      }));
  }

  test('share all limits: what one admits counts for the others', () =>
    withGateway({ config: { threads: THREADS } }, async (gateway) => {
      const key = gateway.key({ rpm: 1 });
      gateway.upstream.follow(answering(completion('hi')));
      const statuses: number[] = [];
      for (let i = 0; i < CONNECTIONS; i++) {
        const connection = await gateway.asking(key);
        statuses.push((await connection.answer()).status);
        connection.leave();
      }
      assert.deepEqual(statuses, [200, ...Array(CONNECTIONS - 1).fill(429)]);
    }));

  test('all report a storage fault, refuse requests, recover with the state file, and stay alive meanwhile', () =>
    withGateway({ config: { threads: THREADS } }, async (gateway) => {
      const key = gateway.key();
      gateway.upstream.follow(answering(completion('hi')));
      await allReport(gateway, '/readyz', '200 ready');
      renameSync(gateway.statePath, `${gateway.statePath}-moved`);
      assertError(await gateway.complete(key), 500, 'internal_error');
      await allReport(gateway, '/readyz', '503 storage_fault');
      await allReport(gateway, '/healthz', '200 ok');
      renameSync(`${gateway.statePath}-moved`, gateway.statePath);
      await allReport(gateway, '/readyz', '200 ready');
      assert.equal((await gateway.complete(key)).status, 200);
    }));
});

test('a thread that connects during a storage fault learns of it at once', (t) =>
  withGateway({}, async (gateway) => {
    const faults: string[] = [];
    const path = `${gateway.statePath}-other`;
    const options = {
      state: { kind: 'file', path },
      durability: 'full',
      creditEnforced: true,
      journalRetentionMs: undefined,
      rpm: 10,
      tpm: 10_000,
      concurrency: 10,
      modelsRpm: 10,
    } as const;
    const ledger = await startLedger(options, {
      onStorageFault: (message) => faults.push(message),
      onStorageRecovered: () => {},
      onStops: () => assert.fail(),
      onDeaths: () => assert.fail(),
      onOrphans: () => assert.fail(),
      onDeath: (error) => {
        throw error;
      },
    });
    t.after(() => ledger.close());
    renameSync(path, `${path}-moved`);
    const settlement = { requestId: 'none', keyHash: 'none', model: 'none', reservedTokens: 0 };
    const admission = { ...settlement, inputTokens: 0, outputTokens: 0, holdNanos: 0n };
    await assert.rejects(ledger.client.admit(admission), { name: 'LedgerUnavailable' });
    assert.equal(faults.length, 1);
    const late = connectLedger(ledger.connect());
    await until(() => late.storageFault === faults[0]);
    renameSync(`${path}-moved`, path);
    await until(() => late.storageFault === undefined);
  }));
