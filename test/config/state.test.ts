/** `state` and `node` in the config: a file or a database, references in both, and no password in a message. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { showState } from '../../src/core/state-location.ts';
import { directory, load, problemsOf } from '../support/configs.ts';

const ENVIRONMENT = {
  DATABASE_URL: 'postgres://gw:p%40ss@db.example/gateway',
  PASSWORD: 's3cret',
  BROKEN: 's3/cret',
  POD: 'pod-7',
  LONG: 'x'.repeat(65),
};

/** Where the state is, as it can be shown, and the password. */
function stateOf(text: string): readonly [shown: string, password?: string | undefined] {
  const { state } = load(`state: ${text}`, ENVIRONMENT);
  return state.kind === 'file' ? [state.path] : [showState(state), state.address.password];
}

test('a state is a file beside the config, or a database, with references in either', () => {
  writeFileSync(join(directory, 'password'), 'from%2Ffile\n');
  const rows: readonly [text: string, ...expected: (string | undefined)[]][] = [
    ['./data/x.db', join(directory, 'data/x.db')],
    ['/var/lib/x.db', '/var/lib/x.db'],
    ['$x{1}.db', join(directory, '$x{1}.db')],
    [`\${POD}.db`, join(directory, 'pod-7.db')],
    ['postgres://gw@db/gateway', 'postgres://gw@db:5432/gateway', undefined],
    ['postgresql://gw:s3cret@db/gateway', 'postgres://gw:***@db:5432/gateway', 's3cret'],
    [`\${DATABASE_URL}`, 'postgres://gw:***@db.example:5432/gateway', 'p@ss'],
    [`postgres://gw:\${PASSWORD}@db/\${POD}`, 'postgres://gw:***@db:5432/pod-7', 's3cret'],
    [`postgres://gw:\${file:password}@db/gateway`, 'postgres://gw:***@db:5432/gateway', 'from/file'],
  ];
  for (const [text, ...expected] of rows) assert.deepEqual(stateOf(text), expected, text);
});

test('the authority of a database is a file beside the config', () => {
  const { state } = load('state: postgres://gw@db/gateway?sslrootcert=ca.pem');
  assert.ok(state.kind === 'postgres');
  assert.deepEqual(state.address.tls, { kind: 'verified', authority: join(directory, 'ca.pem') });
});

test('a state that cannot be used is a problem of its line, without any part of a password', () => {
  const rows: readonly [text: string, line: RegExp][] = [
    ['postgres://gw:s3cret@db', /^1:1: state: expected the name of a database/],
    ['postgres://gw:s3/cret@db/gateway', /^1:1: state: .*percent-encode/],
    [`postgres://gw:\${BROKEN}@db/gateway`, /^1:1: state: .*percent-encode/],
    [`\${MISSING}`, /^1:1: state: the variable MISSING is not set$/],
    [`postgres://gw:\${MISSING}@db/gateway`, /^1:1: state: the variable MISSING is not set$/],
    ['postgres://gw:$PASSWORD@db/gateway', /^1:1: state: expected \$\{NAME\} or/],
    [`postgres://gw:\${file:nowhere}@db/gateway`, /^1:1: state: cannot read the file .*nowhere \(ENOENT\)$/],
    ['mysql://gw:s3cret@db/gateway', /^1:1: state: expected the path of a file, or postgres:/],
    ['postgres+psycopg://gw:s3cret@db/gateway', /^1:1: state: expected the path of a file, or postgres:/],
  ];
  for (const [text, expected] of rows) {
    const [line = '', ...others] = problemsOf(`state: ${text}`, ENVIRONMENT);
    assert.match(line, expected, text);
    assert.deepEqual(others, [], text);
    assert.doesNotMatch(line, /s3|cret/, text);
  }
});

test('a gateway is called as the config says, or after its machine and port', () => {
  assert.equal(load('listen: 127.0.0.1:9999').node, `${hostname().slice(0, 58)}:9999`);
  assert.equal(load('node: blue-1').node, 'blue-1');
  assert.equal(load(`node: gw \${POD}`, ENVIRONMENT).node, 'gw pod-7');
  assert.equal(load(`node: ${'ä'.repeat(64)}`).node, 'ä'.repeat(64));
});

test('a name that cannot be shown is a problem', () => {
  const expected = /^1:1: node: expected a name of 1 to 64 printable characters/;
  for (const name of [`"\${LONG}"`, `"${'x'.repeat(65)}"`, '" "', '"a "', '"a\\nb"', '"a\\u202Eb"']) {
    assert.match(problemsOf(`node: ${name}`, ENVIRONMENT)[0] ?? '', expected, name);
  }
  assert.match(problemsOf('node: 5')[0] ?? '', /^1:1: node: expected a string/);
  assert.match(problemsOf('node: ""')[0] ?? '', /^1:1: node: expected a non-empty string/);
  assert.deepEqual(problemsOf(`node: \${MISSING}`), ['1:1: node: the variable MISSING is not set']);
});
