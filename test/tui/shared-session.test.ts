/** A dashboard on a real database, with real gateways elsewhere and then one of its own. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { shownRequests } from '../../src/tui/lists/live.ts';
import type { Model } from '../../src/tui/model.ts';
import { inFlightOf } from '../../src/tui/select.ts';
import { Session } from '../../src/tui/session.ts';
import { CONFIG, type Serving, Workplace } from '../support/cli.ts';
import { PostgresServer } from '../support/postgres.ts';
import { bounded, until } from '../support/wait.ts';
import { SIZE, screenText } from './samples.ts';

const STALLING = { stream: true, messages: [{ role: 'user', content: '/stall 1' }] };

describe('a dashboard on a shared database', () => {
  let server: PostgresServer;
  let there: Serving;
  let key: string;
  let session: Session;
  const places = { here: new Workplace({ after }, null), there: new Workplace({ after }, null) };

  before(async () => {
    server = await PostgresServer.start();
    const url = await server.createDatabase();
    for (const [node, place] of Object.entries(places)) {
      place.write('config.yaml', CONFIG.replace('./state.db', `${url}\nnode: ${node}`));
    }
    ({ key } = await places.there.createKey('app'));
    there = await places.there.serveHere();
    const { directory } = places.here;
    const path = `${directory}/config.yaml`;
    session = await Session.open(() => loadConfig({ path, environment: {}, directory }), { ...SIZE, copy: () => {} });
  });
  after(async () => {
    await session.close();
    await server.stop();
  });

  const press = (...keys: readonly string[]) => {
    for (const each of keys) session.dispatch({ kind: 'key', key: each });
  };
  const shows = (look: (model: Model) => boolean) =>
    bounded(
      until(() => look(session.model)),
      screenText(session.model),
    );
  const nodesOf = ({ shared }: Model) => shared?.nodes.map(({ name, state }) => `${name} ${state}`).join();

  test('knows the gateways from its first screen on', () => {
    assert.equal(nodesOf(session.model), 'there alive');
    assert.match(screenText(session.model), /^ inf-gw ○ connecting… {2}1 alive/);
    assert.match(screenText(session.model), /^there +● alive, up /m);
  });

  test('says that none runs here once it knows', async () => {
    await shows(({ isConnecting }) => !isConnecting);
    assert.match(screenText(session.model), /no gateway here; 1 alive/);
  });

  test('shows a request of a gateway elsewhere, and stops it there', async () => {
    const response = await there.chat(key, STALLING);
    const id = response.headers.get('x-request-id');
    press('3');
    // Counts and rows are read one after the other, and the gateway writes meanwhile.
    await shows((model) => shownRequests(model)[0]?.id === id && inFlightOf(model) === 1);
    assert.match(
      screenText(session.model),
      /^Live {2}1 in flight on all gateways\n.*\n +\ds {2}app +mock\/echo +there /m,
    );
    press('x', 'y');
    // At once: the message stays for some seconds only.
    await shows(({ message }) => message?.text === `there stops ${id} within seconds.`);
    assert.match(await bounded(response.text(), 'the stream ends'), /"error"/);
    await shows((model) => shownRequests(model).length === 0 && inFlightOf(model) === 0);
  });

  test('shows what the keys are doing', async () => {
    press('2');
    await shows((model) => /^app .* 1\/600$/m.test(screenText(model)));
  });

  test('shows the requests of a gateway that starts here in detail, beside those elsewhere', async () => {
    const serving = await places.here.serveHere();
    press('3');
    await shows(({ snapshot }) => snapshot !== undefined);
    const streams = [await there.chat(key, STALLING), await serving.chat(key, STALLING)];
    const openOf = (model: Model) => shownRequests(model).filter(({ ended_at_ms: end }) => end === undefined);
    await shows((model) => openOf(model).length === 2 && inFlightOf(model) === 2);
    const [elsewhere, here] = shownRequests(session.model);
    assert.deepEqual([elsewhere?.elsewhere?.node, here?.elsewhere, here?.stream], ['there', undefined, true]);
    assert.match(screenText(session.model), /^Live {2}2 in flight on all gateways, followed by recent requests here$/m);
    press('down', 'x', 'y');
    await shows(({ message }) => message?.text === `Stopped ${here?.id}.`);
    assert.match(await bounded(streams[1]?.text() ?? Promise.resolve(''), 'the stream ends'), /"error"/);
    await serving.stop();
    await shows(({ snapshot }) => snapshot === undefined);
    await shows((model) => nodesOf(model) === 'there alive,here stopped');
    assert.deepEqual(
      shownRequests(session.model).map(({ id }) => id),
      [elsewhere?.id],
    );
    await streams[0]?.body?.cancel();
  });

  test('says that the database is away, and shows it again once it is back', async () => {
    press('1');
    await server.crash();
    await shows(({ shared }) => shared?.isStale === true);
    assert.match(screenText(session.model), /no gateway here; the database is away/);
    await server.restart();
    await shows((model) => nodesOf(model)?.startsWith('there alive') === true && model.shared?.isStale === false);
  });
});
