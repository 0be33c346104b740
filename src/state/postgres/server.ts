/** Opens connections to usable servers, and explains why others are unusable. */
import { connect as connectSocket } from 'node:net';
import type pg from 'pg';
import { type PostgresAddress, type ServerAddress, serversOf } from '../../core/postgres-address.ts';
import { within } from '../../core/within.ts';
import { connect, disconnect, query } from './connect.ts';
import { explained, NoPrimaryError, STANDBY, UnusableServerError } from './faults.ts';

/** PostgreSQL 15. */
const OLDEST_VERSION = 150_000;
/** Timeout of each check. */
const CHECK_MS = 2_000;
/** Maximum wait for the other servers of an address after a usable one was found. */
const OTHERS_MS = 1_000;
/** The SSLRequest message, sent before TLS begins. PostgreSQL answers with a single letter. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * Opens a connection to a usable server. Throws a UserError within ten seconds. For commands, and for the start of a
 * gateway.
 */
export async function openServer(address: PostgresAddress, applicationName: string): Promise<pg.Client> {
  try {
    return await openChecked(address, applicationName);
  } catch (error) {
    throw await explainedAtStart(error, address);
  }
}

/** Like `explained`, but if the error is unclear, first probes what kind of server is answering. */
export async function explainedAtStart(error: unknown, address: PostgresAddress): Promise<unknown> {
  return explained(await identified(error, address), address);
}

/**
 * Opens a connection for a running gateway: throws errors for `faultOf`. With several servers it uses the primary, and
 * fails if two accept writes: their states would diverge.
 */
export async function openChecked(address: PostgresAddress, applicationName: string): Promise<pg.Client> {
  const servers = serversOf(address);
  const opening = servers.map((server) => openAt(server, applicationName));
  const first = await Promise.any(opening).catch(({ errors }: AggregateError) => {
    if (errors.length === 1) throw errors[0];
    throw new NoPrimaryError(servers.map((server, index) => [server, errors[index]]));
  });
  let hasSecond = false;
  const closing = opening.map(async (each) => {
    const opened = await each.catch(() => undefined);
    if (opened === undefined || opened === first) return;
    hasSecond ||= opened.server !== first.server;
    await disconnect(opened.client);
  });
  await within(OTHERS_MS, Promise.all(closing), () => undefined);
  if (!hasSecond) return first.client;
  await disconnect(first.client);
  throw new UnusableServerError(
    'two of its servers take writes',
    'stop the one that is not the primary any more, before it is written to',
  );
}

/** A connection to a usable server. */
interface Opened {
  readonly client: pg.Client;
  /** Identity of the server: two addresses may lead to the same one. */
  readonly server: string;
}

async function openAt(address: ServerAddress, applicationName: string): Promise<Opened> {
  const client = await connect(address, applicationName);
  try {
    return { client, server: await assertUsable(client) };
  } catch (error) {
    await disconnect(client);
    throw error;
  }
}

interface ServerFacts {
  readonly version: string;
  readonly number: number;
  readonly is_standby: boolean;
  readonly is_read_only: boolean;
  readonly started: string;
}

/** Returns an identity of the server. */
async function assertUsable(client: pg.Client): Promise<string> {
  const { rows } = await query<ServerFacts>(
    client,
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
      pg_is_in_recovery() AS is_standby, current_setting('transaction_read_only')::bool AS is_read_only,
      pg_postmaster_start_time()::text AS started`,
    CHECK_MS,
  );
  const [facts] = rows;
  if (facts === undefined || facts.number < OLDEST_VERSION) {
    throw new UnusableServerError(
      `PostgreSQL ${facts?.version} is too old`,
      `inf-gw needs PostgreSQL ${OLDEST_VERSION / 10_000} or later: update the server, or use another`,
    );
  }
  if (facts.is_standby || facts.is_read_only) {
    throw new UnusableServerError(
      facts.is_standby ? 'it is a standby and takes no writes' : 'its transactions are read-only',
      facts.is_standby ? STANDBY : 'turn default_transaction_read_only off for this user and database',
    );
  }
  return facts.started;
}

/**
 * Throws a UserError if a pooler shares sessions among its clients, because a gateway depends on session state: settings,
 * prepared statements, and the order of commits. Both connections must be idle and belong to this process.
 */
export async function refusePooler(first: pg.Client, second: pg.Client, address: PostgresAddress): Promise<void> {
  try {
    // Distinguishes exclusive sessions from poolers that assign sessions last in, first out, or in rotation.
    const sessions: number[] = [];
    for (const client of [first, first, second, second, first]) sessions.push(await sessionOf(client));
    const [a, again, b, bAgain, later] = sessions;
    if (a === again && b === bAgain && a === later && a !== b) return;
    throw new UnusableServerError(
      'a pooler in transaction mode is in front of it',
      'set its pool_mode to session for this database, or set `state:` to the address of PostgreSQL itself',
    );
  } catch (error) {
    throw explained(error, address);
  }
}

async function sessionOf(client: pg.Client): Promise<number> {
  const { rows } = await query<{ pid: number }>(client, 'SELECT pg_backend_pid() AS pid', CHECK_MS);
  return rows[0]?.pid ?? 0;
}

/** Replaces an unclear error of pg with the result of a probe. */
async function identified(error: unknown, { host, port }: PostgresAddress): Promise<unknown> {
  const isUnclear = error instanceof Error && UNCLEAR.test(error.message);
  switch (isUnclear ? await probe(host, port) : 'postgres') {
    case 'postgres':
      return error;
    case 'other':
      return new UnusableServerError(
        'what answers there is not PostgreSQL',
        'correct host and port in `state:` (PostgreSQL’s own port is 5432)',
      );
    case 'closed':
      return new UnusableServerError(
        'something there accepts connections and closes them at once',
        'look at the log of the database server, and of a proxy in front of it',
      );
    case 'silent':
      return new UnusableServerError(
        'something there accepts connections and does not answer',
        'look at the log of the database server, and of a proxy in front of it',
      );
  }
}

/** Errors of pg that PostgreSQL and other kinds of servers can cause. */
const UNCLEAR = /^(?:timeout expired|Connection terminated|There was an error establishing|received invalid)/;

/** Probes whether the server is PostgreSQL. Also returns `postgres` if no connection is possible. */
function probe(host: string, port: number): Promise<'postgres' | 'other' | 'closed' | 'silent'> {
  const { promise, resolve } = Promise.withResolvers<'postgres' | 'other' | 'closed' | 'silent'>();
  const socket = host.startsWith('/') ? connectSocket(`${host}/.s.PGSQL.${port}`) : connectSocket(port, host);
  let isConnected = false;
  const timer = setTimeout(() => resolve(isConnected ? 'silent' : 'postgres'), CHECK_MS);
  socket.once('connect', () => {
    isConnected = true;
    socket.write(SSL_REQUEST);
  });
  // S and N: with and without TLS; E: an error of a server that is out of memory.
  socket.once('data', (bytes) => resolve(/^(?:[SN]|E.*)$/s.test(bytes.toString('latin1')) ? 'postgres' : 'other'));
  socket.once('error', () => resolve(isConnected ? 'closed' : 'postgres'));
  socket.once('close', () => resolve('closed'));
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}
