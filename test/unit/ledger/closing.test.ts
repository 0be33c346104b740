/** The end of the ledger: its state is closed once, whatever else ends meanwhile. */
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
import { bounded, until } from '../../support/wait.ts';

/** Much longer than a message takes between two ports of a thread. */
const MESSAGE_MS = 100;

test('a thread that ends while the last flush runs does not have the state closed twice', async () => {
  const flushing = Promise.withResolvers<void>();
  const flushed = Promise.withResolvers<void>();
  let flushes = 0;
  let closes = 0;
  const engine: Partial<Engine> = {
    maxBatch: 1,
    hasRefusals: false,
    journalRetentionMs: undefined,
    fault: undefined,
    maintain: async () => {},
    dropOldRows: () => false,
    flush: async () => {
      flushing.resolve();
      if (++flushes === 1) await flushed.promise;
    },
    close: async () => void closes++,
  };
  const [main, worker] = [new MessageChannel(), new MessageChannel()];
  const port = new Port<LedgerCalls, MainCalls>(main.port1, 'the main thread');
  new LedgerThread(port, engine as Engine, assert.fail).start(main.port1);
  const ledger = new Port<MainCalls, LedgerCalls>(main.port2, 'the ledger').serve({});
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
