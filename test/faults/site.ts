/**
 * A real `serve` with a provider of its own for each cell, so that cells do not influence each
 * other.
 */
import { parseUsd } from '../../src/core/money.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { openDatabase, type Sqlite } from '../../src/state/sqlite/database.ts';
import { assertBooksBalance, countHolds } from '../support/books.ts';
import { inParallel, PROGRAM, type Serving, Workplace } from '../support/cli.ts';
import type { Scope } from '../support/run-scope.ts';
import { makeKey, onlyRowOf, type Row, rowsOf, type TestKey } from '../support/state.ts';
import { until } from '../support/wait.ts';
import { AUTHORITY_PATH, type Host, openHost } from './hosts.ts';
import type { Cell } from './table.ts';

/** The timeouts that a cell is about. */
export const SHORT_MS = 600;
const SHORT = `${SHORT_MS}ms`;
/** Longer than a test waits for anything. */
const LONG = '120s';
/** Many times the pause between two pieces of a slow response. */
const PATIENT = '8s';
export const UPSTREAM_KEY = 'uk-Zq8vX2nL7wRt4KdM9yBf3HsJ';
const CREDIT_USD = '1000';

/** A cell with the resources that it runs on. */
export interface Place {
  readonly cell: Cell;
  readonly host: Host;
  readonly key: TestKey;
  readonly model: string;
}

export interface SiteOptions {
  /** What Node is told to run, before `serve`. The program as it is, if it is left out. */
  readonly program?: readonly string[];
  /** Fields of the config, which override those of the cells. */
  readonly config?: Record<string, unknown>;
  /** Fields of every provider of a cell. */
  readonly provider?: Record<string, unknown>;
  /** More providers. */
  readonly providers?: Record<string, unknown>;
  readonly environment?: Readonly<Record<string, string>>;
  /** Files next to the config, by name. */
  readonly files?: Readonly<Record<string, string>>;
}

export class Site {
  readonly workplace: Workplace;
  readonly places: readonly Place[];
  readonly serving: Serving;
  /** What the clients of the cells read. */
  readonly answers: string[] = [];
  readonly #database: Sqlite;

  private constructor(workplace: Workplace, places: readonly Place[], serving: Serving, database: Sqlite) {
    this.workplace = workplace;
    this.places = places;
    this.serving = serving;
    this.#database = database;
  }

  static async open(scope: Scope, cells: readonly Cell[], options: SiteOptions = {}): Promise<Site> {
    const workplace = new Workplace(scope, null);
    Object.assign(workplace.environment, { NODE_EXTRA_CA_CERTS: AUTHORITY_PATH }, options.environment);
    const hosts = await inParallel(cells, ({ fault }) => openHost(fault.host));
    scope.after(async () => {
      await Promise.all(hosts.map((host) => host.close()));
    });
    for (const [name, text] of Object.entries(options.files ?? {})) workplace.write(name, text);
    workplace.write('config.yaml', JSON.stringify(configFor(cells, hosts, options)));
    const { database } = openDatabase(workplace.statePath);
    scope.after(() => {
      database.close();
    });
    bookOf(database).account.enter(parseUsd(CREDIT_USD) as bigint, 'to start with', Date.now());
    const store = bookOf(database).keys;
    const places = cells.map((cell, number) => ({
      cell,
      host: hosts[number] as Host,
      key: makeKey(store, { concurrency: 1 }),
      model: `${providerName(number)}/model`,
    }));
    const serving = await workplace.serve([...(options.program ?? [PROGRAM]), 'serve']);
    return new Site(workplace, places, serving, database);
  }

  get port(): number {
    return Number(new URL(this.serving.url).port);
  }

  /** The only row of a key, once nothing of it is held. */
  row(key: TestKey): Promise<Row> {
    return onlyRowOf(this.#database, key);
  }

  /** Resolves once a request of this key was admitted, even if it has ended since. */
  admitted(key: TestKey): Promise<void> {
    return until(() => countHolds(this.#database, key.id) > 0 || rowsOf(this.#database, key).length > 0);
  }

  /** Closes all connections of the providers. */
  async closeHosts(): Promise<void> {
    await Promise.all(this.places.map(({ host }) => host.close()));
  }

  /** Nothing may be held, and all sums must be correct. */
  assertSettled(): void {
    if (countHolds(this.#database) > 0) throw new Error('a hold is left');
    assertBooksBalance(this.#database);
  }
}

function providerName(number: number): string {
  return `host-${number}`;
}

function configFor(
  cells: readonly Cell[],
  hosts: readonly Host[],
  { config, provider, providers }: SiteOptions,
): Record<string, unknown> {
  const models = { model: { input: 1, output: 2, max_output: 1000, default_output: 100 } };
  const ofCells = cells.map((cell, number) => [
    providerName(number),
    {
      kind: 'openai',
      base_url: hosts[number]?.baseUrl,
      api_key: UPSTREAM_KEY,
      timeouts: timeoutsFor(cell),
      models,
      ...provider,
    },
  ]);
  return {
    listen: '127.0.0.1:0',
    state: './state.db',
    log: { level: 'info' },
    // On a busy machine nothing may be refused for it.
    overload: { loop_delay: 'off' },
    providers: {
      ...Object.fromEntries(ofCells),
      ...providers,
      mock: { kind: 'mock', models: { echo: { input: 0, output: 0 } } },
    },
    ...config,
  };
}

/** Only the timeout that a cell is about is short, so no other one can end it. */
function timeoutsFor({ case: { stays }, stream, leaving }: Cell): Record<string, string> {
  const long = { connect: LONG, first_byte: LONG, idle: LONG };
  // Once it has a connection, a stream ends when its client leaves, and on a busy machine nothing may come before that.
  if (stream && leaving === 'leaves' && stays.ends !== 'connect') return long;
  switch (stays.ends) {
    case 'at once':
      return long;
    case 'after its answer':
      return { ...long, idle: PATIENT };
    default:
      return { ...long, [stays.ends]: SHORT };
  }
}
