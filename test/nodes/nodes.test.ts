/** Many gateways on one database, in short. `npm run prove -- nodes` is the long form. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { raceForGroup, raceOfUsers } from '../races/crowd.ts';
import { Random } from '../support/random.ts';
import { RunScope } from '../support/run-scope.ts';
import { Cluster } from './cluster.ts';
import { Figures } from './figures.ts';
import { fightForName } from './names.ts';
import { meetOutage } from './outage.ts';
import { LIMITS, race } from './races.ts';
import { Rounds } from './rounds.ts';

const NODES = 2;
const USERS = 60;
const RACERS = 120;
const PACE = { clientsPerNode: 2, restMs: 150 };
/** Many in flight when all die. */
const CROWD = { clientsPerNode: 12, restMs: 0 };
/** A few requests cost what one of the keys may spend. */
const DEAR = 150_000;
const TIMES_ALL_DIE = 2;
const SEED = 4_711;

const scope = new RunScope();
let cluster: Cluster;
before(async () => {
  cluster = await Cluster.open(scope, NODES);
});
after(() => scope.end());

describe('gateways on one database', () => {
  for (const limit of LIMITS) {
    test(`${limit}: racing requests to all of them pass no limit, and use it up`, async () => {
      const figures = new Figures();
      await race(cluster, limit, RACERS, new Random(SEED), figures);
      assert.deepEqual(figures.deviations, []);
    });
  }

  test('keys of a group share a dollar over all of them, and so does each end user, to the nano', async () => {
    const faults = await cluster.operate(async (state) => {
      const arena = { ports: cluster.nodes.map(({ port }) => port), upstream: cluster.upstream, state };
      return [
        ...(await raceForGroup(arena, 'department')),
        ...(await raceOfUsers(arena, 'app', USERS, new Random(SEED))),
      ];
    });
    assert.deepEqual([...faults, ...(await cluster.faults())], []);
  });

  test('one that is killed under load loses nothing and charges nothing twice', async (t) => {
    const figures = new Figures();
    await new Rounds(cluster, figures, PACE).run('kill', new Random(SEED));
    for (const line of figures.lines) t.diagnostic(line);
    assert.deepEqual(figures.deviations, []);
    assert.ok(figures.get('settlements that their clients saw') > 0);
  });

  test('all that are killed at once lose nothing, charge nothing twice and pass no limit, whoever starts then', async (t) => {
    const figures = new Figures();
    const random = new Random(SEED);
    for (let times = 0; times < TIMES_ALL_DIE; times++) {
      await new Rounds(cluster, figures, CROWD, DEAR).run('kill-all', random);
    }
    for (const line of figures.lines) t.diagnostic(line);
    assert.deepEqual(figures.deviations, []);
    assert.ok(figures.get('requests charged as held') > 0);
    assert.ok(figures.get('requests refused for want of money') > 0);
  });

  test('one that is frozen until it is taken for dead, and goes on, loses nothing and charges nothing twice, and its clients get an end', async (t) => {
    const figures = new Figures();
    await new Rounds(cluster, figures, CROWD).run('stop', new Random(SEED));
    for (const line of figures.lines) t.diagnostic(line);
    assert.deepEqual(figures.deviations, []);
    assert.equal(figures.get('gateways stopped, taken for dead and continued'), 1);
  });

  test('without a database they refuse, forward nothing and say why; what was in flight ends, and they serve again', async (t) => {
    const figures = new Figures();
    await meetOutage(cluster, 0, figures);
    for (const line of figures.lines) t.diagnostic(line);
    assert.deepEqual(figures.deviations, []);
  });

  test('a second one of a name is refused, and once the first has stopped it is not', async () => {
    const figures = new Figures();
    await fightForName(scope, cluster, figures);
    assert.deepEqual(figures.deviations, []);
  });
});
