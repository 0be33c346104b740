/** What is said of files that cannot be used as a certificate and its key. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readCertificate, validityOf } from '../../src/config/certificate.ts';
import { UserError } from '../../src/core/errors.ts';
import { certificatePath, pem, TLS } from '../support/certificates.ts';
import { directory, load, problemsOf } from '../support/configs.ts';

const NOW_MS = Date.parse('2026-11-22');
const DAY_MS = 86_400_000;

function written(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

function newKey(encoding: { cipher: string; passphrase: string } | Record<string, never> = {}): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem', ...encoding }).toString();
}

describe('a certificate', () => {
  const faults: readonly (readonly [string, Partial<typeof TLS>, RegExp, number?])[] = [
    ['no file', { cert: '/nowhere/a.crt' }, /^tls\.cert: there is no file \/nowhere\/a\.crt$/],
    ['a file that cannot be read', { key: directory }, /^tls\.key: cannot read .* \(EISDIR\); the user that runs/],
    [
      'another key',
      { key: written('other.key', newKey()) },
      /^tls\.key: .*other\.key is not the key of the certificate in .*valid\.crt/,
    ],
    ['a key in its place', { cert: TLS.key }, /^tls\.cert: .*host\.key has no certificate in PEM/],
    ['a certificate in place of the key', { key: TLS.cert }, /^tls\.key: .*valid\.crt has no private key in PEM$/],
    [
      'an encrypted key',
      { key: written('encrypted.key', newKey({ cipher: 'aes-256-cbc', passphrase: 'x' })) },
      /^tls\.key: .*encrypted\.key is encrypted, and nobody is there to type its password: openssl pkey -in/,
    ],
    ['one that has expired', { cert: certificatePath('expired.crt') }, /expired\.crt expired on 2024-02-01; renew it$/],
    ['one that is not valid yet', {}, /valid\.crt is not valid before 2025-01-01T00:00:00\.000Z; check the clock$/, 0],
    [
      'a chain that begins with the authority',
      { cert: written('chain.crt', pem('authority.crt') + pem('valid.crt')) },
      /^tls\.key: .* is not the key of the certificate in .*chain\.crt, which has to be the first there$/,
    ],
    [
      'a chain that is cut off',
      { cert: written('cut.crt', pem('valid.crt') + pem('authority.crt').slice(0, 200)) },
      /^tls\.cert: TLS cannot use .*cut\.crt \(ERR_/,
    ],
  ];
  for (const [what, files, expected, nowMs = NOW_MS] of faults) {
    test(`cannot be ${what}`, () => {
      assert.throws(
        () => readCertificate({ ...TLS, ...files }, nowMs),
        (error) => error instanceof UserError && expected.test(error.message),
      );
    });
  }

  test('has names, and an end that is worth a warning two weeks before', () => {
    const certificate = readCertificate(TLS, NOW_MS);
    assert.deepEqual(certificate.names, ['127.0.0.1', 'localhost']);
    const end = Date.parse('2124-01-01');
    assert.deepEqual(validityOf(certificate, end - 15 * DAY_MS), { text: 'valid until 2124-01-01', isShort: false });
    assert.equal(validityOf(certificate, end - 13 * DAY_MS).isShort, true);
  });
});

test('the files are named by the config, whose folder they are beside, and need not be there to read it', () => {
  const { tls } = load('tls: { cert: a.crt, key: ../b.key }');
  assert.deepEqual(tls, { cert: join(directory, 'a.crt'), key: join(directory, '../b.key') });
  assert.equal(load('').tls, undefined);
  assert.match(problemsOf('tls: a.crt').join(), /^1:1: tls: expected the files of a certificate and its key, such as/);
  assert.match(problemsOf('tls: { cert: a.crt }').join(), /tls\.key/);
});
