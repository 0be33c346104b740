/** Gateways in processes of their own that share one database, each over a link of its own, in front of one host. */
import { setTimeout as pause } from 'node:timers/promises';
import { mintKey } from '../../src/core/api-key.ts';
import { lossText } from '../../src/core/log-loss.ts';
import type { NewKey, OwnLimits } from '../../src/state/keys.ts';
import { NO_USER_LIMITS } from '../../src/state/levels.ts';
import { openState } from '../../src/state/open.ts';
import type { OpenState } from '../../src/state/state.ts';
import { DEAR_MODEL } from '../races/crowd.ts';
import { locationOf } from '../state/database-stage.ts';
import { linesOf, type Serving, Workplace } from '../support/cli.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { Link } from '../support/link.ts';
import { PostgresServer } from '../support/postgres.ts';
import type { Scope } from '../support/run-scope.ts';
import { sharedBookFaults } from '../support/shared-books.ts';
import type { TestKey } from '../support/state.ts';
import { until } from '../support/wait.ts';

/** A row of the journal. */
export interface Row {
  readonly requestId: string;
  readonly keyId: string;
  readonly nodeId: number;
  readonly outcome: string;
  readonly source: string;
  readonly outputTokens: number;
  readonly costNanos: bigint;
  readonly admittedAtMs: number;
  readonly settledAtMs: number;
}

/** More than any round needs. */
const AMPLE = 1_000_000_000;
const AMPLE_LIMITS: OwnLimits = { rpm: AMPLE, tpm: AMPLE, concurrency: AMPLE, spendLimitNanos: null };
const AMPLE_NANOS = 1_000_000_000_000_000n;

const ASK_MS = 150;

/** Lines of a gateway's log that tell of a fault in the program, whatever happens to it. */
const ALARM = /diverged from the others at log entry|is invalid and was skipped/;

const ROWS = `SELECT request_id AS "requestId", key_id AS "keyId", node_id AS "nodeId", outcome, source,
  completion_tokens::int AS "outputTokens", cost_nanos AS "costNanos", admitted_at_ms::float8 AS "admittedAtMs",
  settled_at_ms::float8 AS "settledAtMs" FROM inf_gw.journal`;

export class Cluster {
  server: PostgresServer;
  /** The address of the database without a link. */
  url: string;
  readonly upstream: FakeUpstream;
  readonly nodes: Node[] = [];
  readonly #database: string;
  #keys = 0;

  private constructor(server: PostgresServer, url: string, upstream: FakeUpstream) {
    this.server = server;
    this.url = url;
    this.upstream = upstream;
    this.#database = new URL(url).pathname.slice(1);
  }

  /** Starts the database, the host, and so many gateways. */
  static async open(scope: Scope, nodes: number): Promise<Cluster> {
    const upstream = await FakeUpstream.start();
    const server = await PostgresServer.start();
    const cluster = new Cluster(server, await server.createDatabase(), upstream);
    for (let number = 1; number <= nodes; number++) {
      cluster.nodes.push(new Node(scope, `node-${number}`, await Link.open(server.port), cluster));
    }
    scope.after(async () => {
      await Promise.all(cluster.nodes.map(({ link }) => link.close()));
      await server.stop();
      await upstream.close();
    });
    // The first makes the tables.
    for (const node of cluster.nodes) await node.start();
    await cluster.operate((state) => state.account.enter(AMPLE_NANOS, 'to start with', Date.now()));
    return cluster;
  }

  /** Gateways start again with the addresses of both servers, the standby's first. */
  async nameBoth(standby: PostgresServer): Promise<void> {
    for (const node of this.nodes) {
      await node.stop();
      node.configure(this, (url) => url.replace('@', `@127.0.0.1:${standby.port},`));
      await node.start();
    }
  }

  /** The primary dies, and the standby takes its place. Gateways that do not have its address are led there. */
  async failOver(standby: PostgresServer, leads: boolean): Promise<void> {
    await this.server.crash();
    await standby.query('SELECT pg_promote(true)');
    this.server = standby;
    this.url = standby.url(this.#database);
    if (!leads) return;
    for (const { link } of this.nodes) {
      link.lead(standby.port);
      link.cut();
    }
  }

  /** Works on the state as a command does. */
  async operate<T>(work: (state: OpenState) => Promise<T>): Promise<T> {
    const state = await openState(locationOf(this.url), 'full');
    try {
      return await work(state);
    } finally {
      await state.close();
    }
  }

  /** Creates a key for each of these limits, all in a group of their own whose end users are levels. */
  async newKeys(limits: readonly (Partial<OwnLimits> & Pick<NewKey, 'budgets'>)[]): Promise<TestKey[]> {
    return this.operate(async ({ keys, groups }) => {
      const made: TestKey[] = [];
      const userLimits = { ...NO_USER_LIMITS, rpm: AMPLE };
      const group = await groups.create({ name: `group ${this.#keys}`, userLimits }, Date.now());
      if (group.kind !== 'done') throw new Error(`a group could not be created: ${group.kind}`);
      const groupId = group.group.id;
      for (const own of limits) {
        const secret = mintKey();
        const settings = { ...AMPLE_LIMITS, ...own, allowlist: null, groupId, name: `key ${++this.#keys}` };
        const change = await keys.create(secret, settings, Date.now());
        if (change.kind !== 'done') throw new Error(`a key could not be created: ${change.kind}`);
        made.push({ id: change.key.id, secret });
      }
      return made;
    });
  }

  /** The ended requests of these keys. */
  async rows(keys: readonly TestKey[]): Promise<Row[]> {
    const rows = await this.query(`${ROWS} WHERE key_id IN (${keys.map(({ id }) => `'${id}'`).join(', ')})`);
    return rows.map((row) => ({ ...row, costNanos: BigInt(row.costNanos as string) }) as unknown as Row);
  }

  /** How many requests are open; of one gateway, if it is named. */
  async holds(node?: string): Promise<number> {
    const where = node === undefined ? '' : `WHERE node_id = (SELECT id FROM inf_gw.nodes WHERE name = '${node}')`;
    const [row] = await this.query(`SELECT count(*)::int AS holds FROM inf_gw.holds ${where}`);
    return row?.holds as number;
  }

  /** Resolves once nothing is open; of one gateway, if it is named. */
  async settled(node?: string): Promise<void> {
    await until(async () => {
      // Each question takes a connection of its own, and so a process of the database.
      await pause(ASK_MS);
      return (await this.holds(node)) === 0;
    });
  }

  /** What is wrong in the books or lost, and where gateways found that they disagree since that was asked last. */
  async faults(): Promise<string[]> {
    const losses = await this.operate(async ({ nodes }) => (await nodes?.losses(this.nodes.length)) ?? []);
    const alarms = this.nodes.flatMap((node) => node.takeAlarms());
    return [...(await sharedBookFaults(this.url)), ...losses.map(lossText), ...alarms];
  }

  /** Runs a statement as the superuser. */
  query(text: string): Promise<Record<string, unknown>[]> {
    return this.server.query(text, this.#database);
  }
}

/** A gateway: its place, its link to the database, and the process that runs at the moment. */
export class Node {
  readonly name: string;
  readonly link: Link;
  readonly place: Workplace;
  /** How often it was killed: connections to it broke then. */
  deaths = 0;
  #serving: Serving | undefined;
  /** The processes so far, and how much of their logs was read; of those that have ended only what is unread. */
  #logs: { readonly serving: Serving; read: number }[] = [];
  #up = Promise.withResolvers<void>();

  constructor(scope: Scope, name: string, link: Link, cluster: Cluster) {
    this.name = name;
    this.link = link;
    this.place = new Workplace(scope);
    this.configure(cluster);
  }

  /** Writes its config, for its next start. `change`: of the address of the database. */
  configure({ url, upstream }: Cluster, change = (address: string) => address): void {
    this.place.write('config.yaml', configFor(this.name, change(this.link.through(url)), upstream.port));
  }

  /** The process; throws while there is none. */
  get serving(): Serving {
    if (this.#serving === undefined) throw new Error(`${this.name} does not run`);
    return this.#serving;
  }

  get port(): number {
    return Number(new URL(this.serving.url).port);
  }

  get isUp(): boolean {
    return this.#serving !== undefined;
  }

  /** Resolves once the gateway runs. */
  get up(): Promise<void> {
    return this.#up.promise;
  }

  async start(): Promise<void> {
    this.#serving = await this.place.serve();
    this.#logs.push({ serving: this.#serving, read: 0 });
    this.#up.resolve();
  }

  /** Kills it. */
  async kill(): Promise<void> {
    this.deaths++;
    await this.#end('SIGKILL');
  }

  /** Has it stop in an orderly way. */
  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#up = Promise.withResolvers();
    const { serving } = this;
    this.#serving = undefined;
    serving.signal(signal);
    await serving.ended;
  }

  /** Alarms in its log that were not taken before. */
  takeAlarms(): string[] {
    const news = this.#logs.map((log) => {
      const text = log.serving.text.slice(log.read);
      log.read += text.length;
      return text;
    });
    this.#logs = this.#logs.filter(({ serving }) => serving === this.#serving);
    const lines = news.flatMap(linesOf).filter((line) => ALARM.test(line));
    return lines.map((line) => `${this.name} says ${line}`);
  }

  /** Whether it says that it can serve. */
  async isReady(): Promise<boolean> {
    return (await fetch(`${this.serving.url}/readyz`)).status === 200;
  }
}

/** JSON is YAML. On a busy machine no timeout may fire. */
function configFor(node: string, state: string, upstreamPort: number): string {
  return JSON.stringify({
    listen: '127.0.0.1:0',
    node,
    state,
    overload: { loop_delay: 'off' },
    tiers: { standard: { rpm: AMPLE, tpm: AMPLE, concurrency: AMPLE } },
    timeouts: { connect: '2m', first_byte: '2m', idle: '2m', request: '2m', drain: '2m' },
    providers: {
      fake: {
        kind: 'openai',
        base_url: `http://127.0.0.1:${upstreamPort}/v1`,
        models: { echo: { input: 1, output: 2, max_output: AMPLE }, ...DEAR_MODEL },
      },
    },
  });
}
