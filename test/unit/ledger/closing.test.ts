/** How the ledger ends what was begun: its requests while nothing is admitted, and itself, once, whatever else ends meanwhile. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { Port } from '../../../src/core/port.ts';
import { prepareLedger } from '../../../src/ledger/client.ts';
import type { Engine } from '../../../src/ledger/engine.ts';
import { LedgerThread } from '../../../src/ledger/ledger-thread.ts';
import type { LedgerCalls, MainCalls } from '../../../src/ledger/protocol.ts';
import { reportsTo, serveThread } from '../../../src/ledger/serve.ts';
import { bounded, until } from '../../support/wait.ts';

/** Much longer than a message takes between two ports of a thread. */
const MESSAGE_MS = 100;

/** A ledger on an engine that has nothing to do but this. */
function ledgerOf(engine: Partial<Engine>): Port<MainCalls, LedgerCalls> {
  const idle: Partial<Engine> = {
    maxBatch: 1,
    hasRefusals: false,
    journalRetentionMs: undefined,
    fault: undefined,
    maintain: async () => {},
    dropOldRows: () => false,
  };
  const { port1, port2 } = new MessageChannel();
  const main = new Port<LedgerCalls, MainCalls>(port1, 'the main thread');
  const thread = new LedgerThread(reportsTo(main), { ...idle, ...engine } as Engine, assert.fail);
  serveThread(thread, main, port1);
  return new Port<MainCalls, LedgerCalls>(port2, 'the ledger').serve({ told: () => {} });
}

test('a thread that ends while the last flush runs does not have the state closed twice', async () => {
  const flushing = Promise.withResolvers<void>();
  const flushed = Promise.withResolvers<void>();
  let flushes = 0;
  let closes = 0;
  const ledger = ledgerOf({
    flush: async () => {
      flushing.resolve();
      if (++flushes === 1) await flushed.promise;
    },
    close: async () => void closes++,
  });
  const worker = new MessageChannel();
  ledger.tell('connect', worker.port1);
  const closed = ledger.call('close');
  await bounded(flushing.promise, 'the last flush');
  worker.port2.close();
  await pause(MESSAGE_MS);
  flushed.resolve();
  await bounded(closed, 'the end of the ledger');
  await pause(MESSAGE_MS);
  assert.equal(closes, 1);
});

test('a handover waits for a flush that runs, whatever was decided meanwhile', async () => {
  const [flushing, flushed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const decided = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let batches = 0;
  let running = 0;
  let most = 0;
  const ledger = ledgerOf({
    needsFlush: true,
    waitsForFlush: () => true,
    process: () => {
      decided[batches++]?.resolve();
      return [undefined];
    },
    flush: async () => {
      most = Math.max(most, ++running);
      flushing.resolve();
      await flushed.promise;
      running--;
    },
    handOver: () => ({ keys: [], open: [] }),
    close: async () => {},
  });
  const ask = (ticket: number) =>
    ledger.tell('ask', 'commands', [[ticket, 'other', { kind: 'charge_held', requestId: 'req_1' }]]);
  ask(1);
  await bounded(flushing.promise, 'the flush');
  ask(2);
  await bounded(decided[1]?.promise as Promise<void>, 'the second batch');
  let isHandedOver = false;
  const handover = ledger.call('handOver').then((handed) => {
    isHandedOver = true;
    return handed;
  });
  await pause(MESSAGE_MS);
  assert.deepEqual([isHandedOver, most], [false, 1]);
  flushed.resolve();
  assert.equal((await bounded(handover, 'the handover')).commits, 2);
  ledger.tell('keep');
  await bounded(ledger.call('close'), 'the end of the ledger');
  assert.equal(most, 1);
});

test('what ends requests does not fail with what comes while nothing is admitted', async () => {
  const batches: string[][] = [];
  const fault = { message: 'nobody hears of it', kind: 'other' } as const;
  const ledger = ledgerOf({
    maxBatch: 8,
    fault,
    faultOf: () => fault,
    process: (commands) => {
      batches.push(commands.map(({ kind }) => kind));
      if (commands.some(({ kind }) => kind === 'identify')) throw new Error(fault.message);
      return commands.map(() => undefined);
    },
    probe: () => {},
    close: async () => {},
  });
  const [identify, charge] = [
    { kind: 'identify', keyHash: '' } as const,
    { kind: 'charge_held', requestId: '' } as const,
  ];
  ledger.tell('ask', 'commands', [
    [1, 'other', identify],
    [2, 'other', charge],
    [3, 'other', identify],
  ]);
  await bounded(ledger.call('close'), 'the end of the ledger');
  assert.deepEqual(batches, [['charge_held'], ['identify', 'identify']]);
});

for (const place of ['thread', 'here'] as const) {
  test(`a ledger that has opened the state for a takeover that fails lets it go: ${place}`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'inf-gw-closing-'));
    t.after(() => rmSync(directory, { recursive: true }));
    const path = join(directory, 'state.db');
    const limits = { rpm: 600, tpm: 2_000_000, concurrency: 60, modelsRpm: 6_000, journalRetentionMs: 86_400_000 };
    const waiting = prepareLedger(
      { state: { kind: 'file', path }, durability: 'full', creditEnforced: true, ...limits },
      {
        onStorageFault: assert.fail,
        onStorageRecovered: assert.fail,
        onStops: () => assert.fail(),
        onDeaths: () => assert.fail(),
        onOrphans: () => assert.fail(),
        onDeath: (error) => assert.fail(error),
      },
      { place, isAhead: false },
    );
    await waiting.open();
    assert.ok(existsSync(`${path}-wal`));
    await waiting.discard();
    // SQLite removes the log with its last connection.
    await until(() => !existsSync(`${path}-wal`));
  });
}
