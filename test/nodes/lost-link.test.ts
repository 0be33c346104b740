/** A gateway's connections that break: what that costs it, and what it may not cost the others. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { Settlement } from '../../src/core/settlement.ts';
import { openState } from '../../src/state/open.ts';
import { type Addition, NOTHING_ADDED } from '../../src/state/postgres/batch.ts';
import { SharedLedgerStore } from '../../src/state/postgres/ledger-store.ts';
import { Link as Connections } from '../../src/state/postgres/link.ts';
import { addressOf, locationOf } from '../state/database-stage.ts';
import { makeKey } from '../state/stage.ts';
import { Link } from '../support/link.ts';
import { PostgresServer } from '../support/postgres.ts';
import { until } from '../support/wait.ts';

/** Where the log begins. */
const BEGIN = { seq: 0n, atUs: 0n };
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
  const node = { name, version: '1', address: '127.0.0.1:1', rules: 1 };
  const events = { onFault: () => {}, onStops: () => {}, onDeaths: () => {} };
  const store = await SharedLedgerStore.open(addressOf(link.through(url)), node, events, async () => {});
  scope.after(async () => {
    await store.close();
    await link.close();
  });
  return { link, store };
}

/** An entry that asks for a decision, which somebody will wait for. */
const ASKING: Addition = { ...NOTHING_ADDED, commands: '{"t":[]}', decides: true, writes: true };

const NOTHING_DECIDED = { decided: ';', digest: '', holds: [], grown: [], listings: [] };

const ENDED: Settlement = {
  requestId: 'req_none',
  outcome: 'ok',
  usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 },
  source: 'reported',
  costNanos: 1n,
  completionId: undefined,
  firstByteMs: undefined,
};

/** What was decided on an entry: one request that was admitted. */
const admitting = (seq: bigint, requestId: string): Addition['decided'] => {
  const tokens = { inputTokens: 1, outputTokens: 1, reservedTokens: 1 };
  const hold = { requestId, keyId, model: 'mock/echo', admittedUs: 1n, ...tokens, holdNanos: 0n, hasSlot: true };
  return {
    seq,
    decided: ';1',
    digest: '',
    holds: [{ ...hold, price: undefined, levels: undefined }],
    grown: [],
    listings: [],
  };
};

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

test('the flush of a batch is sent with it: nothing more is said to the database until both are done', async (t) => {
  const { link, store } = await openStore(t, 'is far away');
  await store.append(ASKING, BEGIN, null);
  link.hold(['toServer']);
  await store.flush();
  link.pass();
});

test('a flush waits for what the database is set to wait for', async (t) => {
  const database = new URL(url).pathname.slice(1);
  await server.query(`ALTER DATABASE ${database} SET synchronous_commit = local`);
  await server.query("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  await server.query('SELECT pg_reload_conf()');
  t.after(async () => {
    await server.query('ALTER SYSTEM RESET synchronous_standby_names');
    await server.query('SELECT pg_reload_conf()');
    await server.query(`ALTER DATABASE ${database} RESET synchronous_commit`);
  });
  const { store } = await openStore(t, 'waits for no standby');
  await store.append(ASKING, BEGIN, null);
  await store.flush();
});

test('no decision waits for a flush, however long a standby takes', async (t) => {
  const { store } = await openStore(t, 'has a slow standby');
  await server.query("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  await server.query('SELECT pg_reload_conf()');
  try {
    let { seq } = await store.append(ASKING, BEGIN, null);
    const flushed = store.flush();
    for (let i = 0; i < 3; i++) {
      ({ seq } = await store.append({ ...ASKING, decided: { ...NOTHING_DECIDED, seq } }, BEGIN, null));
    }
    await server.query('ALTER SYSTEM RESET synchronous_standby_names');
    await server.query('SELECT pg_reload_conf()');
    await flushed;
    await store.flush();
  } finally {
    await server.query('ALTER SYSTEM RESET synchronous_standby_names');
    await server.query('SELECT pg_reload_conf()');
  }
});

describe('after a gateway has lost its connections', () => {
  test('nothing is lost that nobody waited for: it serves at once', async (t) => {
    const { link, store } = await openStore(t, 'asks');
    await store.append(NOTHING_ADDED, BEGIN, null);
    await cutAndReturn(link, store);
    await store.append(ASKING, BEGIN, null);
    await store.flush();
  });

  test('a batch that was not flushed is in doubt, and the new connections stay', async (t) => {
    const { link, store } = await openStore(t, 'admits');
    const { seq } = await store.append(ASKING, BEGIN, null);
    await cutAndReturn(link, store);
    await assert.rejects(store.flush());
    store.forgetUnflushed();
    await store.probe();
    await store.append({ ...ASKING, decided: { ...NOTHING_DECIDED, seq } }, BEGIN, null);
    await store.flush();
  });
});

test('an admission that was given back stays so when the database crashes', async (t) => {
  const { store } = await openStore(t, 'gives back');
  const { seq } = await store.append(ASKING, BEGIN, null);
  await store.append({ ...NOTHING_ADDED, decided: admitting(seq, 'req_given_back') }, BEGIN, null);
  await store.flush();
  await store.append({ ...ASKING, writes: false, givenBack: ['req_given_back'] }, BEGIN, null);
  await server.crash();
  await server.restart();
  const database = new URL(url).pathname.slice(1);
  assert.deepEqual(await server.query('SELECT request_id FROM inf_gw.holds', database), []);
  assert.deepEqual(await server.query('SELECT max(written_seq)::int AS seq FROM inf_gw.positions', database), [
    { seq: Number(seq) },
  ]);
});

test('an entry is not taken that is no JSON, or none that whoever begins can read', async (t) => {
  const { store } = await openStore(t, 'writes nonsense');
  const refused = [
    [{ commands: 'nonsense' }, '22P02'],
    [{ commands: '{"t":"\\u0000"}' }, '22P05'],
    [{ commands: `{"t":${'['.repeat(20_000)}${']'.repeat(20_000)}}` }, '54001'],
    [{ commands: 'null' }, 'IG901'],
    [{ recorded: '["\\u0000"]' }, '22P05'],
    [{ recorded: '{}' }, 'IG901'],
    // Requests that end without an entry would be charged to nobody.
    [{ commands: undefined, settlements: [ENDED] }, 'IG901'],
    [{ commands: undefined, settlements: [ENDED], freed: null as never }, 'IG901'],
  ] as const;
  for (const [said, code] of refused) await assert.rejects(store.append({ ...ASKING, ...said }, BEGIN, null), { code });
  await store.append(ASKING, BEGIN, null);
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
