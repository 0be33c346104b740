/** Servers that cannot be used: within ten seconds a UserError names host and database and says what to do. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { UserError } from '../../src/core/errors.ts';
import { parsePostgresAddress } from '../../src/core/postgres-address.ts';
import { disconnect } from '../../src/state/postgres/connect.ts';
import { openServer } from '../../src/state/postgres/server.ts';
import { Link } from '../support/link.ts';
import { PostgresServer } from '../support/postgres.ts';

const CERTIFICATES = join(import.meta.dirname, '../faults/certificates');
const AUTHORITY = join(CERTIFICATES, 'authority.crt');
const pem = (file: string) => readFileSync(join(CERTIFICATES, file), 'utf8');

function addressOf(url: string) {
  const parsed = parsePostgresAddress(url, '/');
  assert.ok(parsed.kind === 'address', parsed.kind === 'problem' ? parsed.problem : '');
  return parsed.address;
}

/** Opens and ends a connection. Returns the lines of the error; none if it can be used. */
async function linesOf(url: string): Promise<readonly string[]> {
  const address = addressOf(url);
  try {
    await disconnect(await openServer(address, 'inf-gw test'));
    return [];
  } catch (error) {
    assert.ok(error instanceof UserError, `not an error of the user's: ${error}`);
    const [first = '', ...others] = error.lines;
    assert.ok(first.includes(address.host) && first.includes(address.database), first);
    assert.ok(others.length > 0 && error.lines.every((line) => line !== '' && !line.includes('\n')), error.message);
    const secret = address.password ?? 's3cret';
    assert.ok(!error.message.includes(secret) && !error.message.includes(encodeURIComponent(secret)), error.message);
    return error.lines;
  }
}

async function assertRefused(url: string, ...expected: readonly RegExp[]): Promise<void> {
  const text = (await linesOf(url)).join('\n');
  for (const pattern of expected) assert.match(text, pattern);
}

/** A server that is not PostgreSQL. */
async function pretend(scope: { after(cleanUp: () => void): void }, talk: (socket: Socket) => void): Promise<string> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on('error', () => {}));
    talk(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  scope.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return `postgres://gw:s3cret@127.0.0.1:${(server.address() as AddressInfo).port}/gateway`;
}

/** The address with another user, password, host, port, database or parameters. */
function changed(
  url: string,
  fields: Partial<Record<'username' | 'password' | 'hostname' | 'port' | 'pathname' | 'search', string>>,
): string {
  return Object.assign(new URL(url), fields).href;
}

describe('a server that is there', () => {
  let server: PostgresServer;
  let url: string;
  before(async () => {
    server = await PostgresServer.start();
    url = await server.createDatabase();
  });
  after(() => server.stop());

  test('can be used', async () => {
    assert.deepEqual(await linesOf(url), []);
    assert.deepEqual(await linesOf(changed(url, { hostname: 'localhost' })), []);
    assert.deepEqual(await linesOf(changed(url, { hostname: encodeURIComponent(server.folder) })), []);
  });

  test('does not know the password, or the user', async () => {
    await assertRefused(changed(url, { password: 's3cret' }), /wrong user or password/, /percent-encode/);
    await assertRefused(changed(url, { username: 'nobody' }), /as user nobody: wrong user or password/);
    await assertRefused(changed(url, { password: '' }), /asks for a password/, /correct the user and the password/);
  });

  test('has no such database', async () => {
    await assertRefused(changed(url, { pathname: '/nowhere' }), /no such database/, /CREATE DATABASE/);
  });

  test('does not let the user into the database', async () => {
    await server.query('CREATE DATABASE closed');
    await server.query('REVOKE CONNECT ON DATABASE closed FROM PUBLIC');
    await assertRefused(changed(url, { pathname: '/closed' }), /lacks a privilege/, /state grant/);
  });

  test('has too many connections', async () => {
    await server.query("CREATE ROLE limited LOGIN PASSWORD 'x1y2z3' CONNECTION LIMIT 0");
    await assertRefused(
      changed(url, { username: 'limited', password: 'x1y2z3' }),
      /too many connections/,
      /max_connections/,
    );
  });

  test('has no TLS', async () => {
    await assertRefused(changed(url, { search: '?sslmode=require' }), /has no TLS/, /sslmode=disable/);
  });

  test('is set to read-only', async () => {
    const readOnly = await server.createDatabase();
    const { pathname } = new URL(readOnly);
    await server.query(`ALTER DATABASE ${pathname.slice(1)} SET default_transaction_read_only = on`);
    await assertRefused(readOnly, /read-only/, /turn default_transaction_read_only off/);
  });

  test('is older than 15', async () => {
    // No older server is at hand: one of the names that the check asks for leads to another answer.
    const old = await server.createDatabase();
    const database = new URL(old).pathname.slice(1);
    await server.query(
      `CREATE FUNCTION public.current_setting(name text) RETURNS text LANGUAGE sql
         AS $$ SELECT CASE name WHEN 'server_version_num' THEN '140022' WHEN 'server_version' THEN '14.22' ELSE 'off' END $$;
       ALTER DATABASE ${database} SET search_path = public, pg_catalog`,
      database,
    );
    await assertRefused(old, /PostgreSQL 14\.22 is too old/, /PostgreSQL 15 or later/);
  });

  test('is behind a link that resets', async (t) => {
    const link = await Link.open(server.port);
    t.after(() => link.close());
    link.cutNext();
    await assertRefused(link.through(url), /the connection was cut/);
  });

  test('is a standby, and is found beside one, and not used beside another that takes writes', async (t) => {
    const standby = await PostgresServer.start({ files: { 'standby.signal': '' } });
    t.after(() => standby.stop());
    const [silent, closed] = [await pretend(t, () => {}), 'localhost:1'];
    const among = (...places: readonly (string | number)[]) =>
      url.replace(
        /@[^/]*/,
        `@${places.map((place) => (typeof place === 'number' ? `127.0.0.1:${place}` : place)).join()}`,
      );
    const standbyAlone = among(standby.port).replace(/[^/]*$/, 'postgres');
    await assertRefused(standbyAlone, /it is a standby/, /address of the primary/);
    const noneOf = among(standby.port, closed).replace(/[^/]*$/, 'postgres');
    await assertRefused(
      noneOf,
      /at 127.0.0.1:\d+ or localhost:1, .* standby .* localhost:1: nothing listens/,
      /start the database/,
    );
    assert.deepEqual(await linesOf(among(standby.port, closed, new URL(silent).host, server.port)), []);
    // Another name of the same server is not another one.
    assert.deepEqual(await linesOf(among(server.port, `localhost:${server.port}`)), []);
    await standby.query('SELECT pg_promote(true)');
    await standby.query(`CREATE DATABASE ${new URL(url).pathname.slice(1)}`);
    await assertRefused(among(server.port, standby.port), /two of its servers take writes/, /stop the one/);
  });
});

describe('a server with TLS', () => {
  let valid: PostgresServer;
  let url: string;
  const start = (certificate: string) =>
    PostgresServer.start({
      settings: { ssl: 'on' },
      files: {
        'server.crt': pem(certificate),
        'server.key': pem('host.key'),
        'pg_hba.conf': 'hostssl all all all scram-sha-256\n',
      },
    });
  before(async () => {
    valid = await start('valid.crt');
    url = valid.url('postgres');
  });
  after(() => valid.stop());

  test('is used where its certificate is of a known authority and for its host', async () => {
    assert.deepEqual(await linesOf(changed(url, { search: `?sslrootcert=${AUTHORITY}` })), []);
    assert.deepEqual(await linesOf(changed(url, { hostname: 'localhost', search: `?sslrootcert=${AUTHORITY}` })), []);
  });

  test('is used unchecked only where that is asked for', async () => {
    assert.deepEqual(await linesOf(changed(url, { search: '?sslmode=require' })), []);
    await assertRefused(changed(url, { search: '?sslmode=verify-full' }), /TLS cannot be trusted/, /sslrootcert=/);
  });

  test('is not used without TLS, if it asks for that', async () => {
    await assertRefused(changed(url, { search: '?sslmode=disable' }), /does not let this user in/, /may ask for TLS/);
  });

  test('is not used with a certificate of another host, or an expired one', async (t) => {
    for (const [certificate, expected] of [
      ['wrong-name.crt', /certificate is for another host/],
      ['expired.crt', /certificate has expired/],
    ] as const) {
      const other = await start(certificate);
      t.after(() => other.stop());
      await assertRefused(changed(other.url('postgres'), { search: `?sslrootcert=${AUTHORITY}` }), expected);
    }
  });

  test('needs a file with certificates where one is named', async () => {
    await assertRefused(
      changed(url, { search: '?sslrootcert=/nowhere.pem' }),
      /cannot read certificates from \/nowhere.pem/,
    );
    const noCertificate = join(CERTIFICATES, 'host.key');
    await assertRefused(changed(url, { search: `?sslrootcert=${noCertificate}` }), /cannot read certificates from/);
  });
});

describe('no server', { concurrency: true }, () => {
  test('an unknown host', () =>
    assertRefused('postgres://gw:s3cret@nowhere.invalid/gateway', /host is not known|the DNS does not answer/));

  test('nobody listens', () =>
    assertRefused('postgres://gw:s3cret@127.0.0.1:1/gateway', /nothing listens/, /start the database/));

  test('no such socket', () => assertRefused('postgres://gw:s3cret@%2Fnowhere/gateway', /no such socket/));

  for (const [name, talk] of Object.entries<(socket: Socket) => void>({
    'a web server': (socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    'an SSH server': (socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n'),
    'a MySQL server': (socket) => socket.write('J\0\0\0\x0a8.4.0\0'),
  })) {
    test(name, async (t) => {
      const url = await pretend(t, talk);
      await assertRefused(url, /not PostgreSQL/, /correct host and port/);
      await assertRefused(changed(url, { search: '?sslmode=require' }), /not PostgreSQL/);
    });
  }

  test('a proxy with nothing behind it', async (t) => {
    const url = await pretend(t, (socket) => socket.end());
    await assertRefused(url, /closes them at once/, /proxy in front/);
  });

  test('silence', async (t) => {
    const url = await pretend(t, () => {});
    const withTls = changed(url, { search: '?sslmode=require' });
    await Promise.all([url, withTls].map((each) => assertRefused(each, /accepts connections and does not answer/)));
  });
});

describe('whoever takes the port of a database', () => {
  /** A message of the server that asks for a proof, or for none. */
  const asking = (code: number, rest = Buffer.alloc(0)) => {
    const head = Buffer.alloc(9);
    head.write('R');
    head.writeInt32BE(8 + rest.length, 1);
    head.writeInt32BE(code, 5);
    return Buffer.concat([head, rest]);
  };
  const READY = Buffer.from('Z\0\0\0\x05I', 'latin1');
  const REQUESTS: readonly (readonly [what: string, says: RegExp, ...messages: readonly Buffer[]])[] = [
    ['gets no password in clear', /asks for the password in clear/, asking(3)],
    ['gets no MD5 of it', /asks for an MD5 of the password/, asking(5, Buffer.from('salt'))],
    ['gets no queries without proving that it knows the password', /proves nothing/, asking(0), READY],
  ];
  for (const [what, says, ...messages] of REQUESTS) {
    test(what, async (t) => {
      const heard: Buffer[] = [];
      const url = await pretend(t, (socket) => {
        socket.once('data', () => {
          socket.on('data', (bytes: Buffer) => heard.push(bytes));
          socket.write(Buffer.concat(messages));
        });
      });
      await assertRefused(url, says, /scram-sha-256/);
      assert.deepEqual(Buffer.concat(heard).toString('latin1'), '');
    });
  }

  const OUT_OF_TURN: readonly (readonly [what: string, ...messages: readonly Buffer[]])[] = [
    ['a proof that nobody has asked for', asking(12, Buffer.from('v=AAAA')), asking(0), READY],
    ['a challenge that nobody has asked for', asking(11, Buffer.from('r=x,s=c2FsdA==,i=4096')), asking(0), READY],
    ['a way to sign in that does not exist', asking(10, Buffer.from('SECRET-HANDSHAKE\0\0'))],
  ];
  for (const [what, ...messages] of OUT_OF_TURN) {
    test(`is refused for ${what}`, async (t) => {
      const url = await pretend(t, (socket) => socket.once('data', () => socket.write(Buffer.concat(messages))));
      await assertRefused(url, /does not sign in as PostgreSQL does|proves nothing/, /scram-sha-256/);
    });
  }

  test('is refused for a proof by somebody who does not know the password, and does not learn it', async (t) => {
    const heard: Buffer[] = [];
    const url = await pretend(t, (socket) => {
      const replies = [
        () => asking(10, Buffer.from('SCRAM-SHA-256\0\0')),
        (said: Buffer) => asking(11, Buffer.from(`r=${/r=([^,]+)/.exec(said.toString())?.[1]}more,s=c2FsdA==,i=4096`)),
        () => Buffer.concat([asking(12, Buffer.from(`v=${Buffer.alloc(32).toString('base64')}`)), asking(0), READY]),
      ];
      socket.on('data', (bytes: Buffer) => {
        heard.push(bytes);
        const reply = replies.shift();
        if (reply !== undefined) socket.write(reply(bytes));
      });
    });
    await assertRefused(url, /does not sign in/, /scram-sha-256/);
    assert.equal(heard.length, 3, 'it gets no query');
    assert.ok(!Buffer.concat(heard).includes('s3cret'));
  });

  test('is believed where the address has no password: then there is nothing to prove', async (t) => {
    const heard: Buffer[] = [];
    const url = await pretend(t, (socket) => {
      socket.once('data', () => {
        socket.on('data', (bytes: Buffer) => heard.push(bytes));
        socket.write(Buffer.concat([asking(0), READY]));
        socket.once('data', () => socket.destroy());
      });
    });
    await assertRefused(changed(url, { password: '' }), /not PostgreSQL/);
    assert.ok(heard.length > 0);
  });
});
