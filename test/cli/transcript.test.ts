/** Every command prints its documented JSON, the same whether or not a gateway is running, in a file or in a database. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import {
  CONFIG,
  type GroupJson,
  type KeyJson,
  linesOf,
  type NewKeyJson,
  type Result,
  type UserJson,
  Workplace,
} from '../support/cli.ts';
import { PostgresServer } from '../support/postgres.ts';

/** In this order, each with `--json`. */
const COMMANDS = [
  ['credit', 'show'],
  ['keys', 'list'],
  'keys create app --rpm 10 --tpm 2000 --concurrency 3 --spend-limit 1.5 --allow mock/echo --allow mock/paid'.split(
    ' ',
  ),
  ['keys', 'create', 'plain'],
  ['keys', 'list'],
  ['keys', 'show', 'app'],
  ['limits', 'show', 'app'],
  'limits set app --rpm default --concurrency 7 --spend-limit none'.split(' '),
  'limits set plain --spend-limit 0.00000001 --tpm 1'.split(' '),
  ['allowlist', 'show', 'app'],
  ['allowlist', 'set', 'app', 'mock/paid'],
  ['allowlist', 'add', 'app', 'mock/echo', 'mock/paid'],
  ['allowlist', 'remove', 'app', 'mock/paid'],
  ['allowlist', 'remove', 'app', 'mock/echo'],
  ['allowlist', 'clear', 'app'],
  ['credit', 'add', '12.5', '--note', 'the first, of "many"'],
  ['credit', 'remove', '0.000000001'],
  ['credit', 'history'],
  ['keys', 'disable', 'app'],
  ['keys', 'enable', 'app'],
  ['keys', 'rotate', 'app'],
  ['keys', 'delete', 'plain', '--yes'],
  ['keys', 'list', '--all'],
  'groups create research --budget day=100 --rpm 600'.split(' '),
  'groups create nlp --in @research --user-budget day=1 --user-required --allow mock/echo'.split(' '),
  'keys create chat --in @nlp --user-rpm 5 --may-create'.split(' '),
  ['keys', 'list', '--group', '@research'],
  ['groups', 'list'],
  ['groups', 'show', '@nlp'],
  ['limits', 'show', '@nlp'],
  'limits set @nlp --concurrency 4 --user-required off --user-budget none --user-tpm 1000 --spend-limit 9'.split(' '),
  'limits set @research --rpm none --budget none'.split(' '),
  ['allowlist', 'set', '@research', 'mock/echo'],
  ['allowlist', 'show', '@research'],
  ['keys', 'disable', '@research'],
  ['keys', 'enable', '@research'],
  'users set zoë --key chat --rpm 3 --budget day=5'.split(' '),
  ['users', 'block', 'zoë', '--key', 'chat'],
  ['users', 'list', '--key', 'chat'],
  ['users', 'unblock', 'zoë', '--key', 'chat'],
  'users set zoë --key chat --rpm none --budget none'.split(' '),
  ['users', 'set', 'zoe', '--key', '@research', '--tpm', '7'],
  ['users', 'show', 'zoe', '--key', '@research'],
  'limits set chat --user-rpm none --user-required'.split(' '),
  ['keys', 'move', '@nlp', '--to', 'none'],
  ['keys', 'move', 'chat', '--to', '@research'],
  ['keys', 'show', 'chat'],
  ['groups', 'delete', '@nlp'],
  ['groups', 'delete', '@research', '--yes'],
  ['requests', 'list', '--key', 'chat'],
  ['usage'],
  ['usage', '--by', 'key'],
  ['usage', '--by', 'group'],
  ['models'],
  ['config', 'check'],
] as const;

type Transcript = readonly (Result & { readonly words: readonly string[] })[];

async function transcriptOf(place: Workplace): Promise<Transcript> {
  const results = await place.runAll(COMMANDS.map((words) => [...words, '--json']));
  return results.map((result, index) => ({ words: COMMANDS[index] ?? [], ...result }));
}

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const USD = /^-?\d+\.\d{2,9}$/;

/** The document with ids, keys, times and paths replaced, since they differ from run to run. */
function normalized(text: string, place: Workplace): unknown {
  const even = text
    .replaceAll(place.directory, '<directory>')
    .replaceAll(/(key|grp)_[0-9a-z]{26}/g, '<id>')
    .replaceAll(/sk-inf-(…[0-9A-Za-z]{4}|[0-9A-Za-z]{40})(?=")/g, (key) => `<key of ${key.length}>`)
    .replaceAll(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, '<time>');
  return JSON.parse(even);
}

const alone = new Workplace({ after });
const served = new Workplace({ after });
const shared = new Workplace({ after });
let transcript: Transcript = [];
let besideGateway: Transcript = [];
let inDatabase: Transcript = [];
let address = '';

before(async () => {
  const server = await PostgresServer.shared();
  const url = new URL(await server.createDatabase());
  shared.write('config.yaml', CONFIG.replace('./state.db', url.href));
  address = url.href.replace(url.password, '***');
  const beside = served.serveHere().then(() => transcriptOf(served));
  [transcript, besideGateway, inDatabase] = await Promise.all([transcriptOf(alone), beside, transcriptOf(shared)]);
});

function answer<Document>(...words: string[]): Document {
  const entry = transcript.find((one) => one.words.join(' ').startsWith(words.join(' ')));
  return JSON.parse(entry?.stdout ?? '') as Document;
}

test('each prints one JSON document and nothing else, and exits with status 0', () => {
  for (const [index, { words, status, stdout, stderr }] of [...transcript, ...besideGateway].entries()) {
    assert.equal(status, 0, `${words.join(' ')}: ${stderr}`);
    assert.doesNotThrow(() => JSON.parse(stdout), words.join(' '));
    if (index > 2) assert.equal(stderr, '', words.join(' '));
  }
  for (const { stderr } of transcript.slice(0, 2)) {
    assert.match(stderr, new RegExp(`^note: there is no state file at ${alone.statePath} yet; .*\n$`));
  }
  assert.deepEqual(linesOf(transcript[2]?.stderr ?? ''), [`created the state file ${alone.statePath}`]);
});

test('each prints the same while a gateway is running', () => {
  for (const [index, { words, stdout }] of transcript.entries()) {
    const other = besideGateway[index]?.stdout ?? '';
    assert.deepEqual(normalized(other, served), normalized(stdout, alone), words.join(' '));
  }
});

test('each prints the same of a database, and makes no file', () => {
  const [first, ...others] = inDatabase;
  assert.deepEqual(linesOf(first?.stderr ?? ''), [`created the tables in ${address}`]);
  for (const { words, stderr } of others) assert.equal(stderr, '', words.join(' '));
  for (const [index, { words, status, stdout }] of inDatabase.entries()) {
    assert.equal(status, 0, words.join(' '));
    const place = stdout.replaceAll(address, '<directory>/state.db');
    const expected = normalized(transcript[index]?.stdout ?? '', alone);
    assert.deepEqual(normalized(place, shared), expected, words.join(' '));
  }
  assert.deepEqual(readdirSync(shared.directory), ['config.yaml']);
});

test('a new key is printed with its secret and all its settings', () => {
  const { key, id, preview, created_at, ...rest } = answer<NewKeyJson>('keys create app');
  assert.match(key, /^sk-inf-[0-9A-Za-z]{40,}$/);
  assert.equal(preview, `sk-inf-…${key.slice(-4)}`);
  assert.match(id, /^key_[0-9a-z]{26}$/);
  assert.match(created_at, TIME);
  assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 600_000);
  assert.deepEqual(rest, {
    name: 'app',
    state: 'enabled',
    blocked_by: null,
    limits: { rpm: 10, tpm: 2000, concurrency: 3 },
    spend_limit_usd: '1.50',
    budgets: [],
    expires_at: null,
    allowlist: ['mock/echo', 'mock/paid'],
    group: null,
    user_limits: null,
    month: { requests: 0, tokens: 0, cost_usd: '0.00' },
  });
});

test('a key without settings of its own has the tier’s limits, and null for the rest', () => {
  const key = answer<NewKeyJson>('keys create plain');
  assert.deepEqual(key.limits, { rpm: 600, tpm: 2_000_000, concurrency: 60 });
  assert.equal(key.spend_limit_usd, null);
  assert.equal(key.allowlist, null);
});

test('every command that changes a key prints the key, without its secret', () => {
  const fields = [
    'id',
    'name',
    'preview',
    'state',
    'blocked_by',
    'limits',
    'spend_limit_usd',
    'budgets',
    'expires_at',
    'allowlist',
    'group',
    'user_limits',
    'created_at',
    'month',
  ];
  for (const { words, stdout } of transcript) {
    if (!['keys', 'limits', 'allowlist'].includes(words[0] ?? '') || words[2]?.startsWith('@')) continue;
    const answered = JSON.parse(stdout) as KeyJson | KeyJson[];
    const shown = words[1] === 'create' || words[1] === 'rotate' ? [...fields, 'key'] : fields;
    for (const key of [answered].flat()) assert.deepEqual(Object.keys(key).sort(), shown.toSorted(), words.join(' '));
  }
});

test('every command that changes a group prints the group, with its limits or null', () => {
  const nlp = answer<GroupJson>('groups create nlp');
  const { id, created_at, ...rest } = nlp;
  assert.match(id, /^grp_[0-9a-z]{26}$/);
  assert.match(created_at, TIME);
  assert.deepEqual(rest, {
    name: 'nlp',
    group: 'research',
    state: 'enabled',
    blocked_by: null,
    limits: { rpm: null, tpm: null, concurrency: null },
    spend_limit_usd: null,
    budgets: [],
    allowlist: ['mock/echo'],
    user_limits: {
      ...{ rpm: null, tpm: null, concurrency: null, spend_limit_usd: null },
      budgets: [{ period: 'day', limit_usd: '1.00' }],
      required: true,
    },
    keys: 0,
    month: { requests: 0, tokens: 0, cost_usd: '0.00' },
  });
  for (const { words, stdout } of transcript) {
    if (words[0] !== 'groups' && !words[2]?.startsWith('@')) continue;
    const groups = [JSON.parse(stdout) as GroupJson | GroupJson[]].flat();
    for (const group of groups) assert.deepEqual(Object.keys(group).sort(), Object.keys(nlp).sort(), words.join(' '));
  }
});

test('groups are in groups, and count the keys in them', () => {
  assert.deepEqual(
    answer<GroupJson[]>('groups list').map(({ name, group, keys }) => [name, group, keys]),
    [
      ['research', null, 1],
      ['nlp', 'research', 1],
    ],
  );
  assert.equal(answer<KeyJson>('keys create chat').group, 'nlp');
  assert.deepEqual(
    answer<KeyJson[]>('keys list --group').map(({ name }) => name),
    ['chat'],
  );
  assert.equal(answer<GroupJson>('keys move @nlp').group, null);
  assert.equal(answer<KeyJson>('keys move chat').group, 'research');
  assert.equal(answer<GroupJson>('groups delete @nlp').state, 'deleted');
  assert.deepEqual(answer<unknown[]>('usage --by group'), []);
});

test('limits of groups and of end users are set, kept, and taken away with `none`', () => {
  const nlp = answer<GroupJson>('limits set @nlp');
  assert.deepEqual([nlp.limits.concurrency, nlp.spend_limit_usd], [4, '9.00']);
  assert.deepEqual(nlp.user_limits, {
    ...{ rpm: null, tpm: 1000, concurrency: null, spend_limit_usd: null },
    budgets: [],
    required: false,
  });
  const research = answer<GroupJson>('limits set @research');
  assert.deepEqual([research.limits.rpm, research.budgets], [null, []]);
  assert.deepEqual(answer<GroupJson>('allowlist show @research').allowlist, ['mock/echo']);
  assert.equal(answer<GroupJson>('keys disable @research').state, 'disabled');
  assert.equal(answer<KeyJson>('keys create chat').user_limits?.rpm, 5);
  const { rpm, required } = answer<KeyJson>('limits set chat').user_limits ?? {};
  assert.deepEqual([rpm, required], [null, true]);
});

test('an end user has their own limits over those of all, and can be blocked', () => {
  const zoe = answer<UserJson>('users set zoë --key chat --rpm 3');
  assert.deepEqual(
    { ...zoe, budgets: zoe.budgets.map(({ resets_at: _, ...budget }) => budget) },
    {
      user: 'zoë',
      state: 'enabled',
      limits: { rpm: 3, tpm: null, concurrency: null },
      spend_limit_usd: null,
      budgets: [{ period: 'day', limit_usd: '5.00', spent_usd: '0.00' }],
      own: {
        ...{ rpm: 3, tpm: null, concurrency: null, spend_limit_usd: null },
        budgets: [{ period: 'day', limit_usd: '5.00' }],
      },
      month: { requests: 0, tokens: 0, cost_usd: '0.00' },
    },
  );
  assert.equal(answer<UserJson>('users block zoë').state, 'blocked');
  assert.deepEqual(
    answer<UserJson[]>('users list --key chat').map(({ user, state, own }) => [user, state, own?.rpm]),
    [['zoë', 'blocked', 3]],
  );
  assert.equal(answer<UserJson>('users unblock zoë').state, 'enabled');
  const without = answer<UserJson>('users set zoë --key chat --rpm none');
  assert.deepEqual([without.own, without.limits.rpm, without.budgets], [null, 5, []]);
  assert.equal(answer<UserJson>('users show zoe').limits.tpm, 7);
});

test('setting limits changes those that are given, and `default` and `none` reset them', () => {
  const app = answer<KeyJson>('limits set app');
  assert.deepEqual(app.limits, { rpm: 600, tpm: 2000, concurrency: 7 });
  assert.equal(app.spend_limit_usd, null);
  const plain = answer<KeyJson>('limits set plain');
  assert.deepEqual(plain.limits, { rpm: 600, tpm: 1, concurrency: 60 });
  assert.equal(plain.spend_limit_usd, '0.00000001');
});

test('an allowlist has each model once; cleared, it allows all, and without its last model none', () => {
  const lists = ['show app', 'set app', 'add app', 'remove app mock/paid', 'remove app mock/echo', 'clear app'];
  assert.deepEqual(
    lists.map((words) => answer<KeyJson>(`allowlist ${words}`).allowlist),
    [['mock/echo', 'mock/paid'], ['mock/paid'], ['mock/paid', 'mock/echo'], ['mock/echo'], [], null],
  );
});

test('credit is shown to the nanodollar, as decimal strings', () => {
  const none = { balance_usd: '0.00', held_usd: '0.00', available_usd: '0.00' };
  assert.deepEqual(answer('credit show'), none);
  assert.deepEqual(answer('credit add'), { ...none, balance_usd: '12.50', available_usd: '12.50' });
  assert.deepEqual(answer('credit remove'), { ...none, balance_usd: '12.499999999', available_usd: '12.499999999' });
  const history = answer<Record<string, string>[]>('credit history');
  for (const { at, amount_usd, balance_usd } of history) {
    assert.match(at ?? '', TIME);
    assert.match(amount_usd ?? '', USD);
    assert.match(balance_usd ?? '', USD);
  }
  assert.deepEqual(
    history.map(({ at: _, ...entry }) => entry),
    [
      { amount_usd: '12.50', balance_usd: '12.50', note: 'the first, of "many"' },
      { amount_usd: '-0.000000001', balance_usd: '12.499999999', note: '' },
    ],
  );
});

test('a rotated key has a successor with its settings, but another id and secret; a deleted key is in the full list', () => {
  const first = answer<NewKeyJson>('keys create app');
  const next = answer<NewKeyJson>('keys rotate app');
  const settings = ({ limits, spend_limit_usd, allowlist, state }: KeyJson) => ({
    limits,
    spend_limit_usd,
    allowlist,
    state,
  });
  assert.deepEqual(settings(next), settings(answer<KeyJson>('keys enable app')));
  assert.notEqual(next.key, first.key);
  assert.notEqual(next.id, first.id);
  assert.deepEqual(
    answer<KeyJson[]>('keys list --all').map(({ name, state }) => `${name} ${state}`),
    ['app enabled', 'plain deleted', `${next.name} enabled`],
  );
  assert.equal(answer<KeyJson>('keys disable').state, 'disabled');
  assert.equal(answer<KeyJson>('keys delete').state, 'deleted');
});

test('usage is one row without a group, and one row each with a group', () => {
  const unused = { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  assert.deepEqual(answer('usage'), [{ requests: 0, errors: 0, ...unused, cost_usd: '0.00' }]);
  assert.deepEqual(answer('usage --by key'), []);
});
