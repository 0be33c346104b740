/** What happens to gateways, links and database while requests run. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../support/random.ts';
import { until } from '../support/wait.ts';
import type { Cluster, Node } from './cluster.ts';
import type { Figures } from './figures.ts';

/** What a disturbance works with. */
export interface Scene {
  readonly cluster: Cluster;
  readonly random: Random;
  readonly figures: Figures;
  /** Gateways that were taken for dead and lived. */
  readonly undead: Set<string>;
}

export type Disturbance = (scene: Scene) => Promise<void>;

/** Longer than gateways wait before they take another one for dead. */
const OUTAGE_MS = 9_000;
/** The time between two cuts, in which a gateway is back at work. */
const BETWEEN_CUTS_MS = 900;
const CUTS = 4;
const MOST_STOPPED = 2;
const SETTLING_MS = 200;

/** Kills gateways. They start again, at once or after another one has charged what they held. */
async function kill({ cluster, random, figures }: Scene): Promise<void> {
  const [first, ...others] = random.shuffled(cluster.nodes) as [Node, ...Node[]];
  // One at least stays.
  const victims = [first, ...others.slice(1).filter(() => random.chance(0.5))];
  await Promise.all(
    victims.map(async (node) => {
      await node.kill();
      figures.count('gateways killed');
      const killedAtMs = performance.now();
      if (random.chance(0.25)) {
        await cluster.settled(node.name);
        figures.time('holds of a dead gateway charged', performance.now() - killedAtMs);
        await node.start();
      } else {
        await node.start();
        figures.time('name free after a kill', performance.now() - killedAtMs);
      }
    }),
  );
}

/** Kills all gateways at once, and starts one, which has nobody to ask. The others start while it serves, or once it has charged what they held. */
async function killAll({ cluster, random, figures }: Scene): Promise<void> {
  const [first, ...others] = random.shuffled(cluster.nodes) as [Node, ...Node[]];
  await Promise.all(cluster.nodes.map((node) => node.kill()));
  figures.count('times that all gateways were killed');
  await first.start();
  await pause(random.between(0, 2_000));
  for (const node of others) {
    if (random.chance(0.5)) await cluster.settled(node.name);
    await node.start();
  }
}

/** Cuts connections of gateways in the middle of their work, at the server or on the way. */
async function cut({ cluster, random, figures }: Scene): Promise<void> {
  for (let cuts = 0; cuts < CUTS; cuts++) {
    const node = random.pick(cluster.nodes);
    if (random.chance(0.3)) {
      node.link.cut();
      figures.count('connections cut', 1);
    } else {
      const purpose = random.pick(['ledger', 'ledger', 'flush', 'side']);
      figures.count('connections cut', await terminate(cluster, `inf-gw ${node.name} ${purpose}`));
    }
    await pause(random.between(BETWEEN_CUTS_MS / 2, 2 * BETWEEN_CUTS_MS));
  }
}

/** Ends a session of the database, if it can be in the middle of a query. */
async function terminate(cluster: Cluster, name: string): Promise<number> {
  const [row] = await cluster
    .query(`DO $$ BEGIN
      FOR i IN 1 .. 2000 LOOP
        PERFORM pg_stat_clear_snapshot();
        EXIT WHEN EXISTS (SELECT FROM pg_stat_activity WHERE application_name = '${name}' AND state = 'active');
      END LOOP;
    END $$`)
    .then(() =>
      cluster.query(`SELECT count(pg_terminate_backend(pid))::int AS ended
      FROM pg_stat_activity WHERE application_name = '${name}'`),
    );
  return row?.ended as number;
}

/** The database crashes and is started again. */
async function crash(scene: Scene): Promise<void> {
  const { cluster, random, figures } = scene;
  const downMs = random.chance(0.2) ? OUTAGE_MS : random.between(0, 3_000);
  const watch = watchOutage(scene, cluster.nodes, 'gone');
  await cluster.server.crash();
  figures.count('crashes of the database');
  await pause(downMs);
  await cluster.server.restart();
  await watch.back();
}

/** Gateways are stopped until another one takes them for dead, and go on. */
async function stop({ cluster, random, figures, undead }: Scene): Promise<void> {
  // One at least notices.
  const victims = random.shuffled(cluster.nodes).slice(1, 1 + MOST_STOPPED);
  await Promise.all(
    victims.map(async (node) => {
      const before = await epochOf(cluster, node);
      await stopBusy(cluster, node);
      try {
        const stoppedAtMs = performance.now();
        await cluster.settled(node.name);
        if ((await epochOf(cluster, node)) === before) throw new Error(`${node.name} was not taken for dead`);
        figures.time('holds of a dead gateway charged', performance.now() - stoppedAtMs);
        undead.add(node.name);
        figures.count('gateways stopped, taken for dead and continued');
        await pause(random.between(0, 2_000));
      } finally {
        node.serving.signal('SIGCONT');
      }
    }),
  );
}

/** Stops a gateway that has requests in flight: without one, nobody misses it. */
async function stopBusy(cluster: Cluster, node: Node): Promise<void> {
  await until(async () => {
    node.serving.signal('SIGSTOP');
    // What it had sent by then is carried out.
    await pause(SETTLING_MS);
    if ((await cluster.holds(node.name)) > 0) return true;
    node.serving.signal('SIGCONT');
    return false;
  });
}

async function epochOf(cluster: Cluster, { name }: Node): Promise<string> {
  const [row] = await cluster.query(`SELECT epoch FROM inf_gw.nodes WHERE name = '${name}'`);
  return row?.epoch as string;
}

/** Links are slow for a while. */
function slow(delayMs: number): Disturbance {
  return async ({ cluster, random }) => {
    const nodes = random.chance(0.5) ? cluster.nodes : [random.pick(cluster.nodes)];
    const delay = (ms: number) => {
      for (const { link } of nodes) {
        link.delay('toServer', ms);
        link.delay('toClient', ms);
      }
    };
    delay(delayMs / 2);
    await pause(4_000);
    delay(0);
  };
}

/** What the link of one gateway carries vanishes, one way or both. The others work on. */
async function silence(scene: Scene): Promise<void> {
  const { cluster, random, undead } = scene;
  const node = random.pick(cluster.nodes);
  const watch = watchOutage(scene, [node], 'silent');
  node.link.silence(random.pick([['toServer'], ['toClient'], ['toServer', 'toClient']] as const));
  undead.add(node.name);
  await pause(random.between(6_000, OUTAGE_MS + 3_000));
  node.link.pass();
  await watch.back();
}

/** What the link of one gateway carries is held up, and arrives late. */
async function hold(scene: Scene): Promise<void> {
  const { cluster, random, undead } = scene;
  const node = random.pick(cluster.nodes);
  node.link.hold();
  undead.add(node.name);
  await pause(random.between(500, OUTAGE_MS + 3_000));
  node.link.pass();
}

/** Connections end in one direction. */
async function halfClose({ cluster, random }: Scene): Promise<void> {
  for (let times = 0; times < CUTS; times++) {
    random.pick(cluster.nodes).link.halfClose(random.pick(['toServer', 'toClient']));
    await pause(BETWEEN_CUTS_MS);
  }
}

/** A transaction of somebody else locks the account for a while. */
async function lock({ cluster, random }: Scene): Promise<void> {
  await cluster.query(`DO $$ BEGIN
      PERFORM 1 FROM inf_gw.account FOR UPDATE;
      PERFORM pg_sleep(${random.between(1, 7)});
    END $$`);
}

export const DISTURBANCES = {
  kill,
  'kill-all': killAll,
  cut,
  crash,
  stop,
  silence,
  hold,
  'half-close': halfClose,
  'slow-50': slow(50),
  'slow-300': slow(300),
  lock,
} as const satisfies Readonly<Record<string, Disturbance>>;
export type DisturbanceName = keyof typeof DISTURBANCES;

/** How often a watch asks. */
const ASK_MS = 50;

/**
 * Measures how soon gateways say that they are not ready, from now on, and how soon after `back` they say again that they
 * are.
 */
function watchOutage({ figures }: Scene, nodes: readonly Node[], kind: 'gone' | 'silent') {
  const fromMs = performance.now();
  const bound = kind === 'gone' ? 'not ready after the database has gone' : 'not ready after the link fell silent';
  let isBack = false;
  const fallen = nodes.map(async (node) => {
    while (!isBack) {
      if (!(await node.isReady())) return figures.time(bound, performance.now() - fromMs);
      await pause(ASK_MS);
    }
  });
  return {
    /** To be called when the database can be reached again. Resolves once all are ready. */
    async back(): Promise<void> {
      const backAtMs = performance.now();
      isBack = true;
      await Promise.all(fallen);
      await Promise.all(
        nodes.map(async (node) => {
          await until(() => node.isReady());
          figures.time('serving after the database has come back', performance.now() - backAtMs);
        }),
      );
    },
  };
}
