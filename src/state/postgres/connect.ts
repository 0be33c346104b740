/** Connections to PostgreSQL: bounded in time, never mended behind the back of who uses them, and safe on their way. */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import pg from 'pg';
import { mustProveItself, type ServerAddress } from '../../core/postgres-address.ts';

/** How long signing in may take. */
const CONNECT_TIMEOUT_MS = 5_000;
/** An idle connection is probed after this time, and every second from then on. */
const KEEP_ALIVE_MS = 5_000;
/** How long the goodbye of `disconnect` may take. */
const GOODBYE_MS = 1_000;

/** The database did not answer in time, and the connection was closed for it. */
export class SilentDatabaseError extends Error {
  override name = 'SilentDatabaseError';
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs / 1000} s`);
    this.timeoutMs = timeoutMs;
  }
}

/** The server asks for a password, and the address has none. */
export class NoPasswordError extends Error {
  override name = 'NoPasswordError';
}

/** The file of `sslrootcert` cannot be used. The message says why. */
export class AuthorityError extends Error {
  override name = 'AuthorityError';
}

/**
 * The server does not prove that it knows the password, and no certificate tells who it is. The message says what it did
 * instead.
 */
export class UnprovenServerError extends Error {
  override name = 'UnprovenServerError';
}

/**
 * Opens a connection. Rejects within seconds, with an error that `faults.ts` explains. A connection
 * that is lost stays lost: its queries reject, and it emits `end`.
 */
export async function connect(address: ServerAddress, applicationName: string): Promise<pg.Client> {
  const { host, port, user, password, database } = address;
  let unproven: UnprovenServerError | undefined;
  const client = new pg.Client({
    host,
    port,
    user,
    database,
    // A function, because pg looks for what is missing in other places, and warns of that.
    password: () => {
      if (unproven !== undefined) throw unproven;
      if (password === undefined) throw new NoPasswordError('the server asks for a password');
      return password;
    },
    ssl: tlsOptions(address),
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // Queries are sent at once, and answered in their order.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  });
  // Whatever happens to an idle connection, the next query on it will tell.
  client.on('error', () => {});
  if (mustProveItself(address)) {
    requireProof(client, (error) => {
      unproven = error;
    });
  }
  try {
    await client.connect();
    if (unproven !== undefined) throw unproven;
    return client;
  } catch (error) {
    sever(client);
    throw isOfSigningIn(error) ? new UnprovenServerError('the server does not sign in as PostgreSQL does') : error;
  }
}

/** Whether pg has stumbled over what a server says of SCRAM: a proof that is wrong, or words out of turn. */
function isOfSigningIn(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Error && error.message.startsWith('SASL'));
}

/**
 * Lets a server prove itself by SCRAM only, in which neither side says the password. Anybody can ask for it in clear, or
 * for its MD5, or let everybody in. A Unix socket may let its user in without any: the system tells who that is.
 */
function requireProof(client: pg.Client, refuse: (error: UnprovenServerError) => void): void {
  let isProven = client.host.startsWith('/');
  const refusing = (what: string) => () => refuse(new UnprovenServerError(`the server asks for ${what}`));
  // Before pg's own listeners, which ask for the password.
  client.connection.on('authenticationCleartextPassword', refusing('the password in clear'));
  client.connection.on('authenticationMD5Password', refusing('an MD5 of the password'));
  // pg checks the proof, and ends the connection if it is wrong.
  client.connection.on('authenticationSASLFinal', () => {
    isProven = true;
  });
  client.connection.on('authenticationOk', () => {
    if (!isProven) refuse(new UnprovenServerError('the server lets us in, and proves nothing'));
  });
}

/**
 * Runs a query. Where the answer takes longer, rejects with a
 * SilentDatabaseError and closes the connection: it cannot be known whether the query has been, or
 * will be, carried out. Only this notices a link that has gone silent during a query.
 */
export async function query<Row extends pg.QueryResultRow>(
  client: pg.Client,
  request: string | pg.QueryConfig<unknown[]>,
  timeoutMs: number,
): Promise<pg.QueryResult<Row>> {
  return answered(client, timeoutMs, () => client.query<Row>(request));
}

/** The same for an answer that is taken row by row, and never in memory as a whole. */
export async function queryRows<Row extends pg.QueryResultRow>(
  client: pg.Client,
  request: pg.QueryConfig,
  timeoutMs: number,
  onRow: (row: Row) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const asked = new pg.Query<Row, unknown[]>(request);
  asked.on('row', (row) => {
    try {
      onRow(row);
    } catch (error) {
      reject(error);
    }
  });
  asked.on('end', () => resolve());
  asked.on('error', reject);
  await answered(client, timeoutMs, () => {
    client.query(asked);
    return promise;
  });
}

async function answered<T>(client: pg.Client, timeoutMs: number, ask: () => Promise<T>): Promise<T> {
  let isOver = false;
  const giveUp = () => {
    if (!isOver) sever(client, new SilentDatabaseError(timeoutMs));
  };
  // After a stall of this process the answer may be here, but unread: it is read before an immediate runs.
  const timer = setTimeout(() => setImmediate(giveUp), timeoutMs);
  try {
    return await ask();
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

/** Ends a connection, in a second even on a link that has gone silent. */
export async function disconnect(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => sever(client), GOODBYE_MS);
  try {
    await client.end();
  } finally {
    clearTimeout(timer);
  }
}

/** Closes a connection at once. Queries on it reject with the error, or one of pg's own. */
export function sever(client: pg.Client, error?: Error): void {
  client.connection.stream.destroy(error);
}

function tlsOptions({ tls }: ServerAddress): TlsOptions | false {
  switch (tls.kind) {
    case 'off':
      return false;
    case 'unverified':
      return { rejectUnauthorized: false };
    case 'verified':
      // Not left to a default, which a variable of the environment can turn off.
      return { rejectUnauthorized: true, ...(tls.authority !== undefined && { ca: readAuthority(tls.authority) }) };
  }
}

function readAuthority(path: string): string {
  try {
    const certificates = readFileSync(path, 'utf8');
    // TLS would ignore a file without certificates.
    new X509Certificate(certificates);
    return certificates;
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new AuthorityError(`cannot read certificates from ${path} (${code})`);
  }
}
