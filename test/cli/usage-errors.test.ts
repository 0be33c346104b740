/**
 * Usage errors and failures on the command line: the exit status, and one line for each problem.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inParallel, linesOf, Workplace } from '../support/cli.ts';

const USAGE_ERRORS: readonly (readonly string[])[] = [
  ['frobnicate'],
  ['frobnicate', '--help'],
  ['-c', 'config.yaml', 'frobnicate', '-h'],
  ['keys', 'frobnicate', '--help'],
  ['keys', 'lst'],
  ['help', 'keyz'],
  ['help', 'keys', 'lst'],
  ['frobnicate', 'list'],
  ['config', 'chk'],
  ['keys', 'list', '--frob'],
  ['--frob', 'keys', 'list'],
  ['keys', 'create', 'new', '--rmp', '5'],
  ['keys', 'list', 'extra'],
  ['keys', 'list', '-c'],
  ['-c'],
  ['prices', '-c'],
  ['keys', 'create'],
  ['keys', 'create', ''],
  ['keys', 'create', ' new'],
  ['keys', 'create', 'a\u0007bell'],
  ['keys', 'create', 'x'.repeat(65)],
  ['keys', 'create', 'key_01arz3ndektsv4rrffq69g5fav'],
  ['keys', 'create', 'new', '--rpm'],
  ['keys', 'create', 'new', '--rpm', '0'],
  ['keys', 'create', 'new', '--rpm', '1.5'],
  ['keys', 'create', 'new', '--rpm', 'default'],
  ['keys', 'create', 'new', '--tpm', '-1'],
  ['keys', 'create', 'new', '--concurrency', '1e3'],
  ['keys', 'create', 'new', '--spend-limit', '-1'],
  ['keys', 'create', 'new', '--spend-limit', 'none'],
  ['keys', 'create', 'new', '--spend-limit', '0.0000000001'],
  ['keys', 'create', 'new', '--spend-limit', '1e3'],
  ['keys', 'create', 'new', '--allow', 'echo'],
  ['keys', 'show'],
  ['keys', 'rotate'],
  ['keys', 'delete', '--yes'],
  ['limits', 'set', 'app'],
  ['limits', 'set', 'app', '--rpm', 'none'],
  ['limits', 'set', 'app', '--spend-limit', 'default'],
  ['allowlist', 'clear'],
  ['allowlist', 'set', 'app'],
  ['requests', '--follow', '--csv'],
  ['requests', '--since', '1h', '--until', '2h'],
  ['usage', '--chart', '--json'],
  ['usage', '--chart', '--by', 'key'],
  ['allowlist', 'add', 'app', 'echo'],
  ['allowlist', 'add', 'app', 'mock/*'],
  ['allowlist', 'set', 'app', 'mock/echo,mock/paid'],
  ['allowlist', 'set', 'app', 'mock/\u202eohce'],
  ['allowlist', 'remove', 'app', 'mock/\u001b[2J'],
  ['keys', 'create', 'new', '--allow', '*'],
  ['keys', 'create', 'a\u2067b'],
  ['keys', 'create', 'sk-inf-0123456789abcdefghij'],
  ['credit', 'add'],
  ['credit', 'add', '0'],
  ['credit', 'add', '0.00'],
  ['credit', 'add', '-5'],
  ['credit', 'add', 'five'],
  ['credit', 'add', '10000000000'],
  ['credit', 'add', '1', '--note'],
  ['credit', 'add', '1', '--note', 'two\nlines'],
  ['credit', 'add', '1', '--note', 'a\u202eb'],
  ['credit', 'remove', '0'],
  ['usage', '--by', 'nonsense'],
  ['usage', '--since', '2026-02-30'],
  ['usage', '--since', 'tomorrow'],
  ['usage', '--until', '7y'],
  ['usage', '--since', '2026-11-02', '--until', '2026-11-01'],
  ['usage', '--csv', '--json'],
  ['tui', '--json'],
];

/** Valid usage that fails: `app` exists, `gone` was deleted, and the balance is 1 USD. */
const FAILURES: readonly (readonly string[])[] = [
  ['keys', 'show', 'nobody'],
  ['keys', 'show', 'gone'],
  ['keys', 'enable', 'nobody'],
  ['keys', 'enable', 'gone'],
  ['keys', 'disable', 'nobody'],
  ['keys', 'rotate', 'nobody'],
  ['keys', 'delete', 'nobody', '--yes'],
  ['keys', 'create', 'app'],
  ['limits', 'show', 'nobody'],
  ['limits', 'set', 'nobody', '--rpm', '5'],
  ['allowlist', 'show', 'nobody'],
  ['allowlist', 'clear', 'nobody'],
  ['allowlist', 'add', 'nobody', 'mock/echo'],
  ['allowlist', 'add', 'app', 'mock/echo'],
  ['credit', 'add', '1000000000'],
  ['usage', '--key', 'nobody'],
  ['keys', 'list', '-c', 'missing.yaml'],
  ['config', 'check', '--config', 'missing.yaml'],
];

test('what an option takes beside a value is named where it was given neither', async (t) => {
  const [rpm, money, expiry, created] = await new Workplace(t).runAll([
    ['limits', 'set', 'app', '--rpm', 'many'],
    ['limits', 'set', 'app', '--spend-limit', 'default'],
    ['limits', 'set', 'app', '--expires', 'soon'],
    ['keys', 'create', 'app', '--rpm', 'default'],
  ]);
  assert.match(
    rpm?.stderr ?? '',
    /Expected a whole number from 1 to 1000000000, or default or none\. \(see --help\)$/m,
  );
  assert.match(money?.stderr ?? '', /at most nine decimals, or none\. \(see --help\)$/m);
  assert.match(expiry?.stderr ?? '', /in the future, or never\. \(see --help\)$/m);
  assert.match(created?.stderr ?? '', /Expected a whole number from 1 to 1000000000\. \(see --help\)$/m);
});

test('everything that is wrong with the words has a line of its own', async (t) => {
  const rows: readonly (readonly [words: string, ...said: RegExp[]])[] = [
    ['keys create new --rpm 0 --tpm x --allow a,b --allow c', /'--rpm/, /'--tpm/, /'a,b'/, /'c'/],
    ['keys create --rpm 0', /'--rpm/, /missing required argument 'name'/],
    [
      'keys create new --rmp=5 --rpm 0 --spend-limt 1',
      /'--rpm/,
      /'--rmp' \(Did you mean --rpm\?\)/,
      /mean --spend-limit\?/,
    ],
    ['keys create new --rpm 0 --tpm', /'--tpm <n>' argument missing/, /'--rpm/],
    ['keys list --jsn --limit 0', /'--limit/, /'--jsn' \(Did you mean --json\?\)/],
    [
      'keys list --all=yes --json=1 --jsn=2',
      /'--all' takes no value/,
      /'--json' takes no value/,
      /unknown option '--jsn' \(Did you mean --json\?\)/,
    ],
    ['keys list --help=1', /'--help' takes no value/],
    ['allowlist set app a,b mock/echo c', /'a,b' is invalid for argument 'model'/, /'c' is invalid/],
    ['usage --by no --since x --until y', /'--by/, /'--since/, /'--until/],
    ['users set --rpm 0', /'--rpm/, /required option '--key <key>'/, /missing required argument 'name'/],
    ['limits set app --rpm none --tpm none', /--rpm none/, /--tpm none/],
    ['limits set @g --rpm default --expires 1d', /--rpm default/, /--expires: a group/],
  ];
  const results = await new Workplace(t).runAll(rows.map(([words]) => words.split(' ')));
  for (const [index, [words, ...said]] of rows.entries()) {
    const { status, stdout, stderr = '' } = results[index] ?? {};
    assert.deepEqual([status, stdout], [2, ''], words);
    const lines = linesOf(stderr);
    assert.equal(lines.length, said.length, stderr);
    for (const line of lines) assert.match(line, /^error: .* \(see --help\)$/);
    for (const pattern of said) assert.match(stderr, pattern);
  }
});

test('a usage error ends with status 2, a failure with 1, each with one line on stderr', async (t) => {
  const place = new Workplace(t);
  const preparations = ['keys create app', 'keys create gone', 'keys delete gone --yes', 'credit add 1'];
  const prepared = await place.runAll(preparations.map((words) => words.split(' ')));
  for (const { status, stderr } of prepared) assert.equal(status, 0, stderr);

  const rows = [...USAGE_ERRORS, ...FAILURES];
  const results = await place.runAll(rows);
  assert.equal(results.length, rows.length);
  for (const [index, { status, stdout, stderr }] of results.entries()) {
    await t.test(JSON.stringify(rows[index]), () => {
      assert.equal(status, index < USAGE_ERRORS.length ? 2 : 1, stderr);
      assert.equal(stdout, '');
      assert.equal(linesOf(stderr).length, 1, stderr);
      assert.match(stderr, /^error: (?!command-argument)/);
      assert.doesNotMatch(stderr, /\p{Cc}(?!$)|\p{Cf}|sk-inf-\w/u);
    });
  }

  await t.test('none of them changed anything', async () => {
    const [keys, balance] = await Promise.all([
      place.json<{ name: string }[]>('keys', 'list'),
      place.json<{ balance_usd: string }>('credit', 'show'),
    ]);
    assert.deepEqual(
      keys.map(({ name }) => name),
      ['app'],
    );
    assert.equal(balance.balance_usd, '1.00');
  });
});

test('what is mistyped is answered with what may be meant', async (t) => {
  const place = new Workplace(t);
  await place.runAll([
    ['keys', 'create', 'my-app'],
    ['keys', 'create', 'other'],
  ]);
  const rows: readonly (readonly [words: string, said: RegExp])[] = [
    ['keyz', /'keyz'; did you mean keys\?/],
    ['help keyz', /'keyz'; did you mean keys\?/],
    ['keys lst', /'lst'; did you mean list\?/],
    ['statsu', /'statsu'; did you mean status\?/],
    ['kyes list', /'kyes'; did you mean keys\?/],
    ['keys sohw x', /'sohw'; did you mean show\?/],
    ['Serve', /'Serve'; did you mean serve\?/],
    [
      'users show zoe --kye x',
      /^error: unknown option '--kye' \(Did you mean --key\?\).*\nerror: required option '--key/,
    ],
    ['run --max-us 2 -- true', /^error: unexpected --max-us: put -- before .*; did you mean --max-usd\?/],
    ['run true', /^error: unexpected true: put -- before/],
    ['serve --port 80', /unknown option '--port'; set the address in the config, such as `listen: 127\.0\.0\.1:8787`/],
    ['serve -p 80', /unknown option '-p'; set the address in the config/],
    ['serve --takover', /unknown option '--takover' \(Did you mean --takeover\?\)/],
    ['keys frob', /'frob' of keys, which has create, list, /],
    ['keys show my-ap', /no such key: "my-ap"; did you mean "my-app"\?/],
    ['keys disable myapp', /did you mean "my-app"\?/],
    ['usage --key My-App', /did you mean "my-app"\?/],
    ['keys show zzz', /no such key: "zzz"; list keys with/],
  ];
  const results = await place.runAll(rows.map(([words]) => words.split(' ')));
  for (const [index, [words, said]] of rows.entries()) assert.match(results[index]?.stderr ?? '', said, words);
});

test('the help of a noun has the options of what it does without a verb', async (t) => {
  const place = new Workplace(t);
  const [requests, keys, limits] = await place.runAll([
    ['requests', '--help'],
    ['keys', '-h'],
    ['limits', '-h'],
  ]);
  assert.match(requests?.stdout ?? '', /\n {2}--errors .*\n {2}list\|ls \[options\]/s);
  assert.match(keys?.stdout ?? '', /\n {2}--all .*\n {2}-h, --help/s);
  assert.doesNotMatch(limits?.stdout ?? '', /--rpm/);
});

test('a bare noun does what is natural, and ls lists', async (t) => {
  const place = new Workplace(t);
  await place.runAll([
    ['keys', 'create', 'my-app'],
    ['credit', 'add', '2'],
  ]);
  for (const [short, long] of [
    ['keys', 'keys list'],
    ['keys ls', 'keys list'],
    ['keys --limit 1', 'keys list --limit 1'],
    ['requests ls', 'requests list'],
    ['credit', 'credit show'],
  ] as const) {
    const [a, b] = await place.runAll([short.split(' '), long.split(' ')]);
    assert.equal(a?.status, 0, short);
    assert.equal(a?.stdout, b?.stdout, short);
  }
});

test('each problem of a config is reported on a line of its own', async (t) => {
  const place = new Workplace(t, 'listen: nowhere\ncredit: maybe\n');
  for (const words of [
    ['keys', 'list'],
    ['config', 'check'],
  ]) {
    const { status, stdout, stderr } = await place.run(words);
    assert.equal(status, 1);
    assert.equal(stdout, '');
    const lines = linesOf(stderr);
    assert.equal(lines.length, 2, stderr);
    assert.match(lines[0] ?? '', /^error: config\.yaml:1:1: listen: expected host:port/);
    assert.match(lines[1] ?? '', /^error: config\.yaml:2:1: credit: expected enforced or off/);
  }
});

test('without a command, help goes to stderr with status 2; with --help, it is the result', async (t) => {
  const place = new Workplace(t);
  const [nothing, group, help, version, ahead, ...ofCommands] = await inParallel(
    [
      [],
      ['limits'],
      ['--help'],
      ['--version'],
      ['--help', 'keys'],
      ['--json', 'keys', '--help'],
      ['keys', 'list', '-h'],
      ['requests', '--key', 'app', '--help'],
    ],
    (words) => (words.length === 0 || words[0] === '--version' ? place.runAlone(words) : place.run(words)),
  );
  for (const { status, stdout, stderr } of ofCommands) {
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, /^Usage: inf-gw (keys|requests)/);
  }
  assert.equal(ahead?.stdout, help?.stdout, 'what follows does not matter');
  for (const result of [nothing, group]) {
    assert.equal(result?.status, 2);
    assert.equal(result?.stdout, '');
    assert.match(result?.stderr ?? '', /^Usage: inf-gw/);
  }
  assert.equal(help?.status, 0);
  assert.equal(help?.stderr, '');
  assert.match(help?.stdout ?? '', /inf-gw keys create my-app/);
  assert.equal(version?.status, 0);
  assert.match(version?.stdout ?? '', /^\d+\.\d+\.\d+\n$/);
});
