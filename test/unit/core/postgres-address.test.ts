/** Addresses of databases: what each part means, what is refused, and that no password is ever shown. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  isPostgresAddress,
  type PostgresAddress,
  parsePostgresAddress,
  showAddress,
} from '../../../src/core/postgres-address.ts';

const PLAIN = { host: 'db', port: 5432, user: 'gw', password: undefined, database: 'gateway', others: [] } as const;
const SERVER = { port: 5432, user: 'gw', password: 'a,b', database: 'gateway' } as const;
const VERIFIED = { kind: 'verified', authority: undefined } as const;
const OFF = { kind: 'off' } as const;

const ADDRESSES: readonly [text: string, address: PostgresAddress, shown: string][] = [
  ['postgres://gw@db/gateway', { ...PLAIN, tls: VERIFIED }, 'postgres://gw@db:5432/gateway'],
  ['postgresql://gw@db/gateway', { ...PLAIN, tls: VERIFIED }, 'postgres://gw@db:5432/gateway'],
  [
    'POSTGRES://gw@DB.example:6543/gateway',
    { ...PLAIN, host: 'DB.example', port: 6543, tls: VERIFIED },
    'postgres://gw@DB.example:6543/gateway',
  ],
  [
    'postgres://gw:secret@db/gateway',
    { ...PLAIN, password: 'secret', tls: VERIFIED },
    'postgres://gw:***@db:5432/gateway',
  ],
  [
    'postgres://g%40w:p%40ss%3A%2F%3F%23%25@db/gate%20way',
    { ...PLAIN, user: 'g@w', password: 'p@ss:/?#%', database: 'gate way', tls: VERIFIED },
    'postgres://g%40w:***@db:5432/gate%20way',
  ],
  // The last @ ends the password.
  [
    'postgres://gw:a@b:c@db/gateway',
    { ...PLAIN, password: 'a@b:c', tls: VERIFIED },
    'postgres://gw:***@db:5432/gateway',
  ],
  [
    'postgres://gw@localhost/gateway',
    { ...PLAIN, host: 'localhost', tls: OFF },
    'postgres://gw@localhost:5432/gateway',
  ],
  [
    'postgres://gw@127.0.0.2/gateway',
    { ...PLAIN, host: '127.0.0.2', tls: OFF },
    'postgres://gw@127.0.0.2:5432/gateway',
  ],
  ['postgres://gw@[::1]:1/gateway', { ...PLAIN, host: '::1', port: 1, tls: OFF }, 'postgres://gw@[::1]:1/gateway'],
  [
    'postgres://gw@[2001:db8::1]/gateway',
    { ...PLAIN, host: '2001:db8::1', tls: VERIFIED },
    'postgres://gw@[2001:db8::1]:5432/gateway',
  ],
  [
    'postgres://gw@%2Fvar%2Frun%2Fpg/gateway',
    { ...PLAIN, host: '/var/run/pg', tls: OFF },
    'postgres://gw@%2Fvar%2Frun%2Fpg:5432/gateway',
  ],
  ['postgres://gw@db/gateway?sslmode=disable', { ...PLAIN, tls: OFF }, 'postgres://gw@db:5432/gateway'],
  [
    'postgres://gw@db/gateway?sslmode=require',
    { ...PLAIN, tls: { kind: 'unverified' } },
    'postgres://gw@db:5432/gateway',
  ],
  [
    'postgres://gw@127.0.0.1/gateway?sslmode=verify-full',
    { ...PLAIN, host: '127.0.0.1', tls: VERIFIED },
    'postgres://gw@127.0.0.1:5432/gateway',
  ],
  [
    'postgres://gw@127.0.0.1/gateway?sslrootcert=ca.pem',
    { ...PLAIN, host: '127.0.0.1', tls: { kind: 'verified', authority: '/etc/gw/ca.pem' } },
    'postgres://gw@127.0.0.1:5432/gateway',
  ],
  [
    'postgres://gw@db/gateway?sslrootcert=%2Fca%20s.pem&sslmode=verify-full',
    { ...PLAIN, tls: { kind: 'verified', authority: '/ca s.pem' } },
    'postgres://gw@db:5432/gateway',
  ],
  // Each has the default of its own host.
  [
    'postgres://gw:a,b@db:6000,[::1],%2Frun:7000/gateway',
    {
      ...PLAIN,
      port: 6000,
      password: 'a,b',
      tls: VERIFIED,
      others: [
        { ...SERVER, host: '::1', tls: OFF },
        { ...SERVER, host: '/run', port: 7000, tls: OFF },
      ],
    },
    'postgres://gw:***@db:6000,[::1]:5432,%2Frun:7000/gateway',
  ],
];

const PROBLEMS: readonly [text: string, problem: RegExp][] = [
  ['mysql://gw@db/gateway', /^expected postgres:\/\//],
  ['postgres://db/gateway', /expected a user/],
  ['postgres://:s3cret@db/gateway', /percent-encode/],
  ['postgres:///gateway', /expected a user/],
  ['postgres://gw@/gateway', /^expected postgres:\/\//],
  ['postgres://gw@db', /expected the name of a database/],
  ['postgres://gw@db/', /expected the name of a database/],
  ['postgres://gw@db/gateway/', /expected the name of a database/],
  ['postgres://gw@db/gate%0Away', /expected the name of a database/],
  ['postgres://g%00w@db/gateway', /user without control/],
  ['postgres://gw:s3cret%00@db/gateway', /password without zero/],
  ['postgres://gw@db:0/gateway', /port from 1 to 65535/],
  ['postgres://gw@db:65536/gateway', /^expected postgres:\/\//],
  ['postgres://gw@one,,two/gateway', /^expected postgres:\/\//],
  ['postgres://gw@one:1,two:0/gateway', /port from 1 to 65535/],
  ['postgres://gw:s3cret@1,2,3,4,5,6,7,8,9/gateway', /8 hosts at most/],
  ['postgres://gw:1,2/s3cret@db/gateway', /percent-encode/],
  ['postgres://gw@db,%2Frun/gateway?sslmode=require', /a Unix socket has no TLS/],
  ['postgres://gw@d%C3%B6b/gateway', /expected a host/],
  ['postgres://gw:s3cret%@db/gateway', /% is not followed/],
  ['postgres://gw:s3/cret@db/gateway', /percent-encode/],
  ['postgres://gw:12/s3cret@db/gateway', /percent-encode/],
  ['postgres://gw:12?s3cret@db/gateway', /percent-encode/],
  ['postgres://gw:12?s3cret=x@db/gateway', /percent-encode/],
  ['postgres://gw:12#s3cret@db/gateway', /percent-encode/],
  ['postgres://gw@db/gateway#s3cret', /percent-encode/],
  ['postgres://gw@db/gateway?sslmode=prefer', /expected one of sslmode=disable, require, verify-full/],
  ['postgres://gw@db/gateway?sslmode=', /expected one of sslmode/],
  ['postgres://gw@db/gateway?sslmode=disable&sslmode=require', /sslmode once/],
  ['postgres://gw@db/gateway?options=-c', /the parameter options is not known/],
  ['postgres://gw@db/gateway?s3cret/=1', /a parameter is not known/],
  ['postgres://gw@db/gateway?sslrootcert=', /expected sslrootcert=/],
  ['postgres://gw@db/gateway?sslrootcert=ca.pem&sslmode=require', /sslrootcert needs sslmode=verify-full/],
  ['postgres://gw@%2Frun/gateway?sslmode=require', /a Unix socket has no TLS/],
];

describe('an address', () => {
  for (const [text, address, shown] of ADDRESSES) {
    test(text, () => {
      assert.ok(isPostgresAddress(text));
      assert.deepEqual(parsePostgresAddress(text, '/etc/gw'), { kind: 'address', address });
      assert.equal(showAddress(address), shown);
    });
  }

  for (const [text, expected] of PROBLEMS) {
    test(`not ${text}`, () => {
      const parsed = parsePostgresAddress(text, '/etc/gw');
      assert.ok(parsed.kind === 'problem');
      assert.match(parsed.problem, expected);
      assert.doesNotMatch(parsed.problem, /s3|cret/);
    });
  }
});

test('a path is no address', () => {
  for (const text of ['./inf-gw.db', 'postgres', '/postgres://x', 'postgres:/x'])
    assert.ok(!isPostgresAddress(text), text);
});
