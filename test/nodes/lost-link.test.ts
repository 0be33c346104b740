/** A gateway's connections that break: what that costs it, and what it may not cost the others. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { openState } from '../../src/state/open.ts';
import { type Batch, type BatchAsk, emptyBatch } from '../../src/state/postgres/batch.ts';
import { SharedLedgerStore } from '../../src/state/postgres/ledger-store.ts';
import { Link as Connections } from '../../src/state/postgres/link.ts';
import { addressOf, locationOf } from '../state/database-stage.ts';
import { makeKey } from '../state/stage.ts';
import { Link } from '../support/link.ts';
import { PostgresServer } from '../support/postgres.ts';
import { until } from '../support/wait.ts';

const SETTINGS = { rpm: 100, tpm: 1_000_000, concurrency: 100, modelsRpm: 100, creditEnforced: false };
/** The message that ends a query and its transaction. */
const SYNC = Buffer.from([0x53, 0, 0, 0, 4]);

let server: PostgresServer;
let url: string;
let keyId: string;
before(async () => {
  server = await PostgresServer.start();
  url = await server.createDatabase();
  const state = await openState(locationOf(url), 'full');
  keyId = (await makeKey(state)).id;
  await state.close();
});
after(() => server.stop());

/** A store on a link of its own. */
async function openStore(scope: { after(cleanUp: () => Promise<void>): void }, name: string) {
  const link = await Link.open(server.port);
  const node = { name, version: '1', address: '127.0.0.1:1' };
  const events = { onFault: () => {}, onStops: () => {}, onDeaths: () => {} };
  const store = await SharedLedgerStore.open(addressOf(link.through(url)), node, events);
  scope.after(async () => {
    await store.close();
    await link.close();
  });
  return { link, store };
}

/** A batch that only asks about a key, and one that admits a request. */
function asking(): Batch {
  const batch = emptyBatch([keyId], false);
  const nothing = { reservedTokens: 0, inputTokens: 0, outputTokens: 0, holdNanos: 0n, price: undefined };
  batch.asks.push({ kind: 2, requestId: '', key: 1, model: undefined, ...nothing });
  return batch;
}

function admitting(requestId: string): Batch {
  const batch = asking();
  batch.asks.push({ ...(batch.asks.pop() as BatchAsk), kind: 0, requestId, model: 'mock/echo' });
  return batch;
}

/** Cuts the link, and waits until the gateway is back. */
async function cutAndReturn(link: Link, store: SharedLedgerStore): Promise<void> {
  const { opened } = link;
  link.cut();
  await assert.rejects(store.probe());
  await until(() => link.opened >= opened + 3);
  await until(() =>
    store.probe().then(
      () => true,
      () => false,
    ),
  );
}

describe('after a gateway has lost its connections', () => {
  test('nothing is lost that nobody waited for: it serves at once', async (t) => {
    const { link, store } = await openStore(t, 'asks');
    const { asks } = await store.decide(asking(), SETTINGS, null);
    assert.equal(asks[0]?.code, 0);
    await cutAndReturn(link, store);
    await store.decide(admitting('req_after_cut'), SETTINGS, null);
    await store.flush();
  });

  test('a batch that was not flushed is in doubt, and the new connections stay', async (t) => {
    const { link, store } = await openStore(t, 'admits');
    await store.decide(admitting('req_before_cut'), SETTINGS, null);
    await cutAndReturn(link, store);
    await assert.rejects(store.flush());
    store.forgetUnflushed();
    await store.probe();
    await store.decide(admitting('req_after_doubt'), SETTINGS, null);
    await store.flush();
  });
});

test('an admission that was given back stays so when the database crashes', async (t) => {
  const { store } = await openStore(t, 'gives back');
  await store.decide(admitting('req_given_back'), SETTINGS, null);
  await store.flush();
  await store.giveBack(['req_given_back']);
  await server.crash();
  await server.restart();
  const database = new URL(url).pathname.slice(1);
  assert.deepEqual(
    await server.query("SELECT model FROM inf_gw.holds WHERE request_id = 'req_given_back'", database),
    [],
  );
});

test('a batch whose last bytes are lost on their way does not keep the account locked', async (t) => {
  const lossy = await openLossy();
  const through = new URL(url);
  through.port = String(lossy.port);
  const partial = await Connections.open(addressOf(through.href), 'partial');
  const other = await Connections.open(addressOf(url), 'other');
  t.after(async () => {
    partial.sever();
    await other.close();
    await lossy.close();
  });
  const lock = (connections: Connections) =>
    connections.decide('lock', 'SELECT id FROM inf_gw.account WHERE id = $1 FOR UPDATE', [1]);
  lossy.loseEnds();
  await assert.rejects(lock(partial), { name: 'SilentDatabaseError' });
  await until(() =>
    lock(other).then(
      () => true,
      () => false,
    ),
  );
});

/** Passes everything on, and later on everything but the ends of queries: neither side learns of that. */
async function openLossy() {
  let losesEnds = false;
  const proxy = createServer((client) => {
    const target = connect(server.port, '127.0.0.1');
    client.on('error', () => {});
    target.on('error', () => {});
    target.pipe(client);
    client.on('data', (bytes: Buffer) => {
      const isEnd = losesEnds && bytes.subarray(-SYNC.length).equals(SYNC);
      target.write(isEnd ? bytes.subarray(0, -SYNC.length) : bytes);
    });
    // The end of the client's side is lost, too.
    closing.push(() => target.destroy());
  });
  const closing: (() => void)[] = [];
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    loseEnds: () => {
      losesEnds = true;
    },
    close: async () => {
      const closed = once(proxy, 'close');
      proxy.close();
      for (const close of closing) close();
      await closed;
    },
  };
}
