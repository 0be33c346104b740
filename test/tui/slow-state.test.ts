/** The dashboard on a state that takes its time: nothing overlaps, is lost or shown in the wrong place. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { UserError } from '../../src/core/errors.ts';
import { openState } from '../../src/state/open.ts';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import type { OpenState } from '../../src/state/state.ts';
import { firstModel } from '../../src/tui/model.ts';
import { REFRESH_MS } from '../../src/tui/refresh.ts';
import { Session } from '../../src/tui/session.ts';
import { Store } from '../../src/tui/store.ts';
import { drawPast, writePast } from '../support/past.ts';
import { until } from '../support/wait.ts';
import { letters, SIZE } from './samples.ts';

/** More than a slice of the journal. */
const MANY_ROWS = 6_000;

/** What the operations on the state wait for, and what came of them. */
class Gate {
  isShut = false;
  isBroken = false;
  running = 0;
  mostRunning = 0;
  readonly #waiting: (() => void)[] = [];

  open(): void {
    this.isShut = false;
    for (const enter of this.#waiting.splice(0)) enter();
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** The same operations, each of which waits while the gate is shut and fails while it is broken. */
  around<T extends object>(operations: T): T {
    return Object.fromEntries(
      Object.entries(operations).map(([name, work]) => [name, (...args: unknown[]) => this.#pass(() => work(...args))]),
    ) as T;
  }

  async #pass<T>(work: () => Promise<T>): Promise<T> {
    this.mostRunning = Math.max(this.mostRunning, ++this.running);
    try {
      if (this.isShut) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      if (this.isBroken) throw new UserError(['the database is away', 'start it']);
      return await work();
    } finally {
      this.running--;
    }
  }
}

async function slowSession(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'inf-gw-slow-'));
  const config = loadConfig({ path: undefined, environment: {}, directory });
  const gate = new Gate();
  const state = await openState(config.state, 'crash');
  const { keys, groups, levels, account, usage, requests, history, alerts, kept } = state;
  const slow: OpenState = {
    created: undefined,
    keys: gate.around(keys),
    groups,
    levels,
    account: gate.around(account),
    usage: gate.around(usage),
    requests,
    history: gate.around(history),
    standings: state.standings,
    alerts,
    kept,
    nodes: state.nodes,
    run: (work) => state.run(work),
    hasChanged: () => state.hasChanged(),
    close: () => state.close(),
  };
  const store = new Store(config, slow);
  const terminal = { ...SIZE, copy: () => {} };
  const model = firstModel(await store.read(Date.now()), terminal, Date.now());
  const session = new Session({ readConfig: () => config, config, store, terminal, model });
  t.after(async () => {
    gate.isBroken = false;
    gate.open();
    await session.close();
    rmSync(directory, { recursive: true });
  });
  const press = (...names: string[]) => {
    for (const key of names) session.dispatch({ kind: 'key', key });
  };
  return { session, state, gate, press };
}

test('reads and changes are carried out one at a time', async (t) => {
  const { session, state, gate, press } = await slowSession(t);
  gate.isShut = true;
  press('+', ...letters('25'), 'enter', '5', 'right', ']', '2', '+', ...letters('5'), 'enter', '5', 'right');
  await until(() => gate.waiting === 1);
  gate.open();
  await until(() => session.model.usage.rowsBy === 'day' && gate.running === 0);
  const amounts = (await state.account.history()).map(({ amountNanos }) => amountNanos);
  assert.deepEqual(amounts, [25_000_000_000n, 5_000_000_000n]);
  assert.equal(gate.mostRunning, 1);
});

test('the journal is read for the charts in slices, between which a change is made', async (t) => {
  const { session, gate, press } = await slowSession(t);
  const { database } = openDatabase(session.model.stored.statePath);
  const pastMs = Date.now() - 60_000;
  database.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MANY_ROWS})
    INSERT INTO journal (request_id, key_id, model, admitted_at_ms, settled_at_ms, outcome, source, prompt_tokens,
      cached_tokens, completion_tokens, cost_nanos, cache_write_tokens, hold_nanos)
    SELECT 'req_' || i, 'key_1', 'm', ${pastMs} - i * 100, ${pastMs} - i * 100, 'ok', 'held', 1, 0, 1, 0, 0, 0 FROM n`);
  database.close();
  gate.isShut = true;
  press('t');
  await until(() => gate.waiting === 1);
  press('+', ...letters('25'), 'enter');
  const read: number[] = [];
  session.subscribe(() => {
    if (session.model.message?.text.includes('The balance is')) read.push(session.model.minutes.length);
  });
  gate.open();
  const requests = () => session.model.minutes.reduce((sum, row) => sum + row.requests, 0);
  await until(() => requests() > 0);
  assert.equal(requests(), MANY_ROWS);
  assert.equal(read[0], 0);
  assert.equal(gate.mostRunning, 1);
});

test('rows that are still to be read never stand under another head', async (t) => {
  const { session, gate, press } = await slowSession(t);
  const nowMs = Date.now();
  const { database } = openDatabase(session.model.stored.statePath);
  writePast(database, drawPast(['key_1'], 4, nowMs, nowMs));
  database.close();
  press('5');
  await until(() => session.model.usage.rows.length === 1);
  gate.isShut = true;
  press('right');
  await until(() => gate.waiting === 1);
  press('right');
  assert.deepEqual([session.model.usage.by, session.model.usage.rowsBy], ['day', 'key']);
  const heads: (string | undefined)[] = [];
  session.subscribe(() => {
    const { rows, rowsBy } = session.model.usage;
    heads.push(...rows.map((row) => (rowsBy === 'key' ? row.keyId : row[rowsBy])));
  });
  gate.open();
  await until(() => session.model.usage.rowsBy === 'day');
  assert.equal(heads.at(-1), new Date(nowMs).toISOString().slice(0, 10));
  assert.ok(!heads.includes(undefined));
});

test('usage is read whenever its view is opened, and not before', async (t) => {
  // Nothing is read again by itself.
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { session, press } = await slowSession(t);
  const { database } = openDatabase(session.model.stored.statePath);
  const nowMs = Date.now();
  const [first, ...later] = drawPast(['key_1', 'key_2'], 6, nowMs, nowMs);
  assert.ok(first);
  writePast(database, [first]);
  t.mock.timers.tick(REFRESH_MS);
  // Its turn comes after all that is due.
  press('h');
  await until(() => session.model.dialog?.kind === 'credit_history');
  press('escape');
  assert.equal(session.model.usage.readAtMs, undefined);
  const requests = () => session.model.usage.rows.reduce((sum, row) => sum + row.requests, 0);
  press('5');
  await until(() => requests() === 1);
  press('1');
  writePast(database, later);
  database.close();
  press('5');
  await until(() => requests() === 6);
});

test('what is typed while a key is being created waits, and cannot dismiss what is shown only once', async (t) => {
  const { session, gate, press } = await slowSession(t);
  press('2', 'n', ...letters('app'));
  gate.isShut = true;
  press('enter', 'enter', 'c', 'enter');
  await until(() => gate.waiting === 1);
  const shown = () => session.model.dialog?.kind;
  assert.equal(shown(), undefined);
  gate.open();
  await until(() => session.model.stored.keys.length === 1 && gate.running === 0);
  assert.equal(shown(), 'secret');
  press('enter');
  assert.equal(shown(), undefined);
  assert.deepEqual(
    session.model.stored.keys.map(({ record }) => record.name),
    ['app'],
  );
});

test('what is typed while an amount is being added is taken afterwards, in order', async (t) => {
  const { session, gate, press } = await slowSession(t);
  gate.isShut = true;
  press('+', ...letters('25'), 'enter', '2', 'n', ...letters('xy'));
  await until(() => gate.waiting === 1);
  assert.equal(session.model.view, 'overview');
  gate.open();
  await until(() => session.model.dialog?.kind === 'form');
  assert.equal(session.model.view, 'keys');
  assert.match(JSON.stringify(session.model.dialog), /"text":"xy"/);
});

test('Ctrl-C ends the dashboard while a change is being made, which is still completed', async (t) => {
  const { session, state, gate, press } = await slowSession(t);
  const { statePath } = session.model.stored;
  gate.isShut = true;
  press('+', ...letters('25'), 'enter', 'ctrl+c');
  await session.ended;
  const closed = session.close();
  gate.open();
  await closed;
  await assert.rejects(state.account.balance(), /not open/);
  const again = await openState({ kind: 'file', path: statePath }, 'crash');
  assert.equal((await again.account.balance()).balanceNanos, 25_000_000_000n);
  await again.close();
});

test('a change that fails is reported on one line, and can be made again', async (t) => {
  const { session, state, gate, press } = await slowSession(t);
  gate.isBroken = true;
  press('+', ...letters('25'), 'enter');
  await until(() => session.model.message?.text === 'the database is away · start it');
  await until(() => gate.running === 0);
  gate.isBroken = false;
  press('+', ...letters('25'), 'enter');
  await until(() => session.model.stored.balanceNanos === 25_000_000_000n);
  assert.equal((await state.account.history()).length, 1);
});

test('a read that failed is repeated, although nothing changes any more', async (t) => {
  const { session, state, gate } = await slowSession(t);
  await until(() => state.hasChanged().then((changed) => !changed));
  gate.isBroken = true;
  const other = await openState({ kind: 'file', path: session.model.stored.statePath }, 'crash');
  await other.account.enter(7n, '', Date.now());
  await other.close();
  await until(() => session.model.message?.text === 'the database is away · start it');
  gate.isBroken = false;
  await until(() => session.model.stored.balanceNanos === 7n);
});
