/** What each error of a database is taken for: out of reach, busy, damaged, or an error of this program. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { faultOf, NoPrimaryError, STANDBY, UnusableServerError } from '../../../src/state/postgres/faults.ts';

const ADDRESS = {
  host: '2001:db8::1',
  port: 5432,
  user: 'gw',
  password: 's3cret',
  database: 'gateway',
  tls: { kind: 'off' },
  others: [],
} as const;

/** By SQLSTATE, code of Node, or message of pg. */
const KINDS: readonly (readonly [error: string, kind: 'busy' | 'damage' | 'other' | 'internal'])[] = [
  ['08006', 'other'],
  ['25006', 'other'],
  ['28000', 'other'],
  ['28P01', 'other'],
  ['3D000', 'other'],
  ['40001', 'busy'],
  ['40P01', 'busy'],
  ['42501', 'other'],
  ['42883', 'other'],
  ['42P01', 'other'],
  ['53100', 'other'],
  ['53200', 'other'],
  ['53300', 'other'],
  ['55P03', 'busy'],
  ['57014', 'other'],
  ['57P01', 'other'],
  ['57P03', 'other'],
  ['58030', 'other'],
  ['XX001', 'damage'],
  ['XX002', 'damage'],
  ['22012', 'internal'],
  ['23505', 'internal'],
  ['42601', 'internal'],
  ['P0001', 'internal'],
  ['XX000', 'other'],
  ['ECONNREFUSED', 'other'],
  ['ECONNRESET', 'other'],
  ['EPIPE', 'other'],
  ['ETIMEDOUT', 'other'],
  ['ENOTFOUND', 'other'],
  ['EAI_AGAIN', 'other'],
  ['EHOSTUNREACH', 'other'],
  ['CERT_HAS_EXPIRED', 'other'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'other'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'other'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'other'],
  ['ERR_INVALID_ARG_TYPE', 'internal'],
  ['timeout expired', 'other'],
  ['Connection terminated', 'other'],
  ['Connection terminated unexpectedly', 'other'],
  ['Client has encountered a connection error and is not queryable', 'other'],
  ['Client was closed and is not queryable', 'other'],
  ['received invalid response: 4a', 'other'],
  ['constructor', 'internal'],
  ['Client was passed a null or undefined query', 'internal'],
];

describe('an error of the database', () => {
  for (const [text, kind] of KINDS) {
    test(`${text}: ${kind}`, () => {
      const isMessage = /^[a-z]|^C[a-z]/.test(text);
      const error = isMessage ? new Error(text) : Object.assign(new Error('as the server\nput it'), { code: text });
      const fault = faultOf(error, ADDRESS);
      assert.equal(fault?.kind ?? 'internal', kind);
      if (fault === undefined) return;
      assert.match(fault.message, /^the database gateway at \[2001:db8::1\]:5432, as user gw: [^\n]+; [^\n]+$/);
      assert.doesNotMatch(fault.message, /s3cret|undefined/);
    });
  }

  test('of several servers says what is wrong with each, and what to do about one that is no standby', () => {
    const second = { ...ADDRESS, host: 'b' };
    const address = { ...ADDRESS, others: [second] };
    const standby = new UnusableServerError('it is a standby', STANDBY);
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    const said = (...errors: readonly [unknown, unknown]) =>
      faultOf(
        new NoPrimaryError([
          [ADDRESS, errors[0]],
          [second, errors[1]],
        ]),
        address,
      )?.message;
    const none = 'the database gateway at [2001:db8::1]:5432 or b:5432, as user gw: none of its servers can be used: ';
    assert.equal(
      said(standby, refused)?.replace(/;[^;]*;[^;]*$/, ''),
      `${none}[2001:db8::1]:5432: it is a standby; b:5432: nothing listens there (refused)`,
    );
    assert.match(said(standby, refused) ?? '', /; start the database server/);
    assert.match(said(standby, standby) ?? '', /; promote a standby/);
    assert.equal(said(standby, new TypeError('of this program')), undefined);
  });
});
