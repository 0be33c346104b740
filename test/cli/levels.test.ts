/** Groups and end users, from the command to the client: what each level refuses, in a file and in a database. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ExplainedStep } from '../../src/core/explanation.ts';
import { CONFIG, type GroupJson, type KeyJson, type Serving, type UserJson, Workplace } from '../support/cli.ts';
import { PostgresServer } from '../support/postgres.ts';

/** Each of these limits refuses the second request at the latest. */
const LIMITS: readonly (readonly [option: string, value: string, status: number, message: RegExp])[] = [
  ['rpm', '1', 429, /limit of 1 request per minute/],
  ['tpm', '3', 429, /limit of 3 tokens per minute/],
  ['spend-limit', '0', 402, /monthly spend limit of 0.00 USD/],
  ['budget', 'day=0', 402, /budget of 0.00 USD per day/],
];

/** How two users look alike, and are not the same. */
const LOOKALIKES = ['zoë', 'zoe\u0308', 'ZOË', 'zoë ', '\u202ezoë', 'zoë\u0000', '%', '_', 'a/b', '\\', '🦆'];

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly error: { readonly code: string; readonly message: string };
  readonly text: string;
}

let made = 0;
const newName = (kind: string) => `${kind}-${++made}`;

for (const store of ['file', 'database']) {
  describe(`in a ${store}:`, () => {
    const place = new Workplace({ after });
    let gateway: Serving;
    before(async () => {
      const url = store === 'file' ? './state.db' : await (await PostgresServer.shared()).createDatabase();
      place.write('config.yaml', CONFIG.replace('./state.db', url));
      await place.json('credit', 'add', '1000');
      gateway = await place.serveHere();
    });
    after(() => gateway.stop());

    const newGroup = (...options: string[]) => place.json<GroupJson>('groups', 'create', newName('group'), ...options);
    const newKey = (...options: string[]) => place.createKey(newName('app'), ...options);

    async function ask(path: string, key: string, fields: object, headers: Record<string, string> = {}) {
      const sent = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers };
      const posted = Object.keys(fields).length === 0 ? {} : { method: 'POST', body: JSON.stringify(fields) };
      const reply = await fetch(`${gateway.url}${path}`, { headers: sent, ...posted });
      const text = await reply.text();
      return { status: reply.status, headers: reply.headers, text, error: JSON.parse(text).error } as Answer;
    }
    const complete = ({ key }: { key: string }, fields: object = {}, headers: Record<string, string> = {}) =>
      ask(
        '/v1/chat/completions',
        key,
        { model: 'mock/echo', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1, ...fields },
        headers,
      );

    /** What the operator hears about the latest refusal of a key. */
    const whyRefused = async ({ id }: { id: string }) => {
      const [latest] = await place.json<{ message: string }[]>('requests', '--refused', '--key', id);
      return latest?.message;
    };

    /** Asks twice, since what a first request used may be what refuses the second. Returns the refusal. */
    async function refusalOf(key: { key: string }, fields: object, status: number): Promise<string> {
      await complete(key, fields);
      const answer = await complete(key, fields);
      assert.equal(answer.status, status, answer.text);
      assert.equal(answer.error.code, status === 402 ? 'spend_limit_reached' : 'rate_limited');
      if (status === 429) assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
      return answer.error.message;
    }

    describe('a limit refuses', () => {
      for (const [option, value, status, message] of LIMITS) {
        test(`at the group and the one around it: --${option} ${value}`, async () => {
          const outer = await newGroup(`--${option}`, value);
          const inner = await newGroup('--in', `@${outer.name}`);
          const [one, other] = [await newKey('--in', `@${inner.name}`), await newKey('--in', `@${outer.name}`)];
          const said = await refusalOf(one, {}, status);
          assert.match(said, message);
          assert.ok(said.includes(outer.name), said);
          // It is one limit for all its keys.
          assert.equal((await complete(other)).status, status);
          await place.json('limits', 'set', `@${outer.name}`, `--${option}`, 'none');
          assert.equal((await complete(one)).status, 200);
        });

        test(`at the end user of a key: --user-${option} ${value}`, async () => {
          const key = await newKey(`--user-${option}`, value);
          const said = await refusalOf(key, { user: 'zoe' }, status);
          assert.match(said, message);
          assert.match(said, /end user/);
          assert.ok(!said.includes('zoe'), said);
          // Nobody is named: the key alone bounds it.
          for (let i = 0; i < 2; i++) assert.equal((await complete(key)).status, 200);
          await place.json('limits', 'set', key.id, `--user-${option}`, 'none');
          assert.equal((await complete(key, { user: 'zoe' })).status, 200);
        });

        test(`at the end user of a group, over all its keys: --user-${option} ${value}`, async () => {
          const { name } = await newGroup(`--user-${option}`, value);
          const [one, other] = [await newKey('--in', `@${name}`), await newKey('--in', `@${name}`)];
          await refusalOf(one, { user: 'zoe' }, status);
          const answer = await complete(other, { user: 'zoe' });
          assert.equal(answer.status, status);
          assert.match(answer.error.message, /end user/);
        });
      }
    });

    test('a group that is disabled refuses all its keys, and names itself', async () => {
      const outer = await newGroup();
      const key = await newKey('--in', `@${(await newGroup('--in', `@${outer.name}`)).name}`);
      await place.json('keys', 'disable', `@${outer.name}`);
      for (const answer of [await complete(key), await ask('/v1/models', key.key, {})]) {
        assert.deepEqual([answer.status, answer.error.code], [403, 'api_key_disabled']);
        assert.ok(answer.error.message.includes(outer.name), answer.error.message);
      }
      assert.equal(await whyRefused(key), `group ${outer.name} is disabled`);
      const [shown, listed, enabled] = await place.runAll([
        ['keys', 'show', key.id],
        ['keys', 'list', '--group', `@${outer.name}`],
        ['keys', 'enable', key.id],
      ]);
      assert.match(shown?.stdout ?? '', new RegExp(`^state +disabled by @${outer.name}$`, 'm'));
      assert.match(listed?.stdout ?? '', new RegExp(`  disabled by @${outer.name}  `));
      assert.match(
        enabled?.stderr ?? '',
        new RegExp(`until @${outer.name} is enabled: .* keys enable @${outer.name}$`, 'm'),
      );
      await place.json('keys', 'enable', `@${outer.name}`);
      assert.equal((await complete(key)).status, 200);
    });

    test('a model must be on the allowlist of the key and of each group that has one', async () => {
      const group = await newGroup('--allow', 'mock/echo');
      const key = await newKey('--in', `@${group.name}`, '--allow', 'mock/echo', '--allow', 'mock/paid');
      assert.equal((await complete(key)).status, 200);
      const answer = await complete(key, { model: 'mock/paid' });
      assert.deepEqual([answer.status, answer.error.code], [403, 'model_not_allowed']);
      const { data } = JSON.parse((await ask('/v1/models', key.key, {})).text);
      assert.deepEqual(
        data.map(({ id }: { id: string }) => id),
        ['mock/echo'],
      );
      await place.json('allowlist', 'clear', `@${group.name}`);
      assert.equal((await complete(key, { model: 'mock/paid' })).status, 200);
    });

    test('what is spent stays where it was when a key moves, and counts in the groups around', async () => {
      const outer = await newGroup();
      const inner = await newGroup('--in', `@${outer.name}`);
      const other = await newGroup();
      const key = await newKey('--in', `@${inner.name}`);
      assert.equal((await complete(key, { model: 'mock/paid' })).status, 200);
      await place.json('keys', 'move', key.id, '--to', `@${other.name}`);
      assert.equal((await complete(key, { model: 'mock/paid' })).status, 200);
      const spent = async ({ name }: GroupJson) => (await place.json<GroupJson>('groups', 'show', `@${name}`)).month;
      const [first, second, third] = [await spent(inner), await spent(outer), await spent(other)];
      assert.deepEqual([first.requests, second.requests, third.requests], [1, 1, 1]);
      assert.deepEqual([first.cost_usd, second.cost_usd], [third.cost_usd, third.cost_usd]);
      const rows = await place.json<{ group: string; requests: number }[]>('usage', '--by', 'group', '--key', key.id);
      assert.deepEqual(
        rows.map(({ group, requests }) => [group, requests]).toSorted(),
        [inner, outer, other].map(({ name }) => [name, 1]).toSorted(),
      );
      const listed = await place.json<unknown[]>('requests', 'list', '--group', `@${outer.name}`);
      assert.equal(listed.length, 1);
    });

    describe('an end user', () => {
      test('is whom the header names, else the body, and each has their own limits, byte for byte', async () => {
        const key = await newKey('--user-rpm', '1');
        const header = (name: string) => ({ 'x-inf-gw-user': Buffer.from(name).toString('latin1') });
        for (const name of LOOKALIKES) assert.equal((await complete(key, { user: name })).status, 200, name);
        for (const name of LOOKALIKES) assert.equal((await complete(key, { user: name })).status, 429, name);
        // The same users, named elsewhere.
        assert.equal((await complete(key, { safety_identifier: 'zoë', user: 'new' })).status, 429);
        assert.equal((await complete(key, { metadata: { user_id: 'zoë' } })).status, 429);
        assert.equal((await complete(key, { user: 'newer' }, header('zoë'))).status, 429);
        assert.equal((await complete(key, { user: 'zoë' }, header('newer'))).status, 200);
        const seen = await place.json<UserJson[]>('users', 'list', '--key', key.id);
        assert.deepEqual(seen.map(({ user }) => user).toSorted(), [...LOOKALIKES, 'newer'].toSorted());
      });

      test('has to be named where that is required, and by a name', async () => {
        const key = await newKey('--user-required', '--rpm', '3');
        for (const fields of [{}, { user: '' }, { user: null }, { user: 5 }, { user: 'x'.repeat(257) }]) {
          const answer = await complete(key, fields);
          assert.deepEqual([answer.status, answer.error.code], [400, 'invalid_request'], JSON.stringify(fields));
        }
        // They took nothing.
        const rates = (await complete(key, { user: 'x'.repeat(256) })).headers;
        assert.equal(rates.get('x-ratelimit-remaining-requests'), '2');
        await place.json('limits', 'set', key.id, '--user-required', 'off');
        assert.equal((await complete(key)).status, 200);
      });

      test('can have more than all, or less, and be blocked', async () => {
        const key = await newKey('--user-rpm', '1');
        await place.json('users', 'set', 'vip', '--key', key.id, '--rpm', '2');
        const statuses = async (user: string, times: number) => {
          const found: number[] = [];
          for (let i = 0; i < times; i++) found.push((await complete(key, { user })).status);
          return found;
        };
        assert.deepEqual(await statuses('vip', 3), [200, 200, 429]);
        assert.deepEqual(await statuses('all', 2), [200, 429]);
        await place.json('users', 'block', 'mallory', '--key', key.id);
        const answer = await complete(key, { user: 'mallory' });
        assert.deepEqual([answer.status, answer.error.code], [403, 'api_key_disabled']);
        assert.ok(!answer.error.message.includes('mallory'));
        assert.equal(await whyRefused(key), `end user of ${key.name} is blocked`);
        await place.json('users', 'unblock', 'mallory', '--key', key.id);
        assert.equal((await complete(key, { user: 'mallory' })).status, 200);
      });

      test('that is blocked hears first what key and model are refused for, whether the key was seen before or not', async () => {
        const key = await newKey('--allow', 'mock/echo');
        await place.json('users', 'block', 'zoe', '--key', key.id);
        for (const _ of ['new', 'known']) {
          const { error } = await complete(key, { user: 'zoe', model: 'mock/paid' });
          assert.equal(error.code, 'model_not_allowed');
        }
        await place.json('keys', 'disable', key.id);
        assert.match((await complete(key, { user: 'zoe' })).error.message, /^This API key is disabled/);
      });

      test('of a group are listed page by page, and their requests by name', async () => {
        const { name } = await newGroup('--user-rpm', '9');
        const keys = [await newKey('--in', `@${name}`), await newKey('--in', `@${name}`)];
        for (const [user, key] of [
          ['ann', 0],
          ['zoe', 0],
          ['zoe', 1],
        ] as const) {
          assert.equal((await complete(keys[key] as KeyJson & { key: string }, { user })).status, 200);
        }
        const { stdout } = await place.run(['users', 'list', '--key', `@${name}`, '--limit', '1']);
        const [, more = ''] = /^More: inf-gw (.*)$/m.exec(stdout) ?? [];
        assert.equal(more, `users list --key @${name} --limit 1 --after ann`);
        assert.match((await place.run(more.split(' '))).stdout, /^zoe +enabled/m);
        const listed = async (...words: string[]) =>
          (await place.json<{ user: string }[]>('requests', '--group', `@${name}`, ...words)).map(({ user }) => user);
        assert.deepEqual(await listed(), ['zoe', 'zoe', 'ann']);
        assert.deepEqual(await listed('--user', 'zoe'), ['zoe', 'zoe']);
        assert.deepEqual(await listed('--user', 'zoe', '--key', keys[1]?.id ?? ''), ['zoe']);
        assert.deepEqual(await listed('--user', 'zo'), []);
        const outside = await newKey();
        assert.equal((await complete(outside, { user: 'ann' })).status, 200);
        const used = await place.json<{ user: string; requests: number }[]>(
          'usage',
          '--by',
          'user',
          '--group',
          `@${name}`,
        );
        assert.deepEqual(
          new Map(used.map(({ user, requests }) => [user, requests])),
          new Map([
            ['zoe', 2],
            ['ann', 1],
          ]),
        );
      });

      test('of any name are asked for by what they are called, however reports show that', async () => {
        const key = await newKey('--user-rpm', '1');
        for (const user of ['\u202ezoë', 'x'.repeat(256)]) {
          for (const status of [200, 429]) assert.equal((await complete(key, { user })).status, status);
          for (const words of [['--refused'], []]) {
            assert.equal(
              (await place.json<unknown[]>('requests', ...words, '--key', key.id, '--user', user)).length,
              1,
            );
          }
        }
      });

      test('are not said to be none where nothing counts them', async () => {
        const { name } = await newGroup();
        const key = await newKey('--in', `@${name}`);
        assert.equal((await complete(key, { user: 'zoe' })).status, 200);
        const listed = async (owner: string) => (await place.run(['users', 'list', '--key', owner])).stdout;
        const [, text, usage = ''] =
          /^(.*)\nIts end users in reports: inf-gw (.*)\n$/.exec(await listed(key.name)) ?? [];
        const why = 'counts no end users, since it sets no limits for them.';
        assert.equal(text, `${key.name} ${why}`);
        assert.match((await place.run(usage.split(' '))).stdout, /^zoe +1 /m);
        assert.equal(await listed(`@${name}`), `@${name} ${why}\n`);
        await place.run(['limits', 'set', `@${name}`, '--user-rpm', '9']);
        assert.equal(await listed(`@${name}`), `No end users of @${name} were seen.\n`);
      });

      test('are shown with their requests of this month where no limits count them', async () => {
        const { name } = await newGroup();
        const key = await newKey('--in', `@${name}`);
        const requestsOf = async (user: string, owner = key.id) =>
          (await place.json<UserJson>('users', 'show', user, '--key', owner)).month.requests;
        for (let i = 0; i < 3; i++) assert.equal((await complete(key, { user: 'zoe' })).status, 200);
        assert.equal(await requestsOf('zoe'), 3);
        assert.equal(await requestsOf('zoe', `@${name}`), 3);
        const blocked = await place.json<UserJson>('users', 'block', 'zoe', '--key', key.id);
        assert.deepEqual([blocked.state, blocked.month.requests], ['blocked', 3]);
        await place.json('users', 'block', 'never-seen', '--key', key.id);
        assert.equal(await requestsOf('never-seen'), 0);
        const listed = await place.json<UserJson[]>('users', 'list', '--key', key.id);
        assert.deepEqual(
          listed.map(({ user, month }) => [user, month.requests]),
          [
            ['never-seen', 0],
            ['zoe', 3],
          ],
        );
        // From here on the level counts, too.
        await place.json('users', 'unblock', 'zoe', '--key', key.id);
        await place.run(['limits', 'set', key.id, '--user-rpm', '9']);
        assert.equal((await complete(key, { user: 'zoe' })).status, 200);
        assert.equal(await requestsOf('zoe'), 4);
        // Two names of the same beginning have one sum.
        const long = 'x'.repeat(200);
        const other = await newKey();
        assert.equal((await complete(other, { user: long })).status, 200);
        await place.run(['users', 'block', long, '--key', other.id]);
        await place.run(['users', 'unblock', long, '--key', other.id]);
        assert.equal((await place.run(['users', 'show', long, '--key', other.id])).status, 1);
      });

      test('that was never seen nor set is an error', async () => {
        const key = await newKey();
        const { status, stderr } = await place.run(['users', 'show', 'nobody', '--key', key.id]);
        assert.equal(status, 1);
        assert.match(
          stderr,
          /^error: no such end user of app-\d+: "nobody"; list them with `inf-gw users list --key app-\d+`\n$/,
        );
      });
    });

    test('a child is refused with its parent, and spends from it', async () => {
      const parent = await newKey('--rpm', '2', '--may-create');
      const child = JSON.parse((await ask('/v1/keys', parent.key, { name: newName('child') })).text) as typeof parent;
      assert.equal((await complete(child)).status, 200);
      assert.equal((await complete(parent)).status, 200);
      assert.equal((await complete(child)).status, 429);
      await place.json('keys', 'disable', parent.id);
      assert.equal((await complete(child)).status, 403);
      const { name } = await place.json<KeyJson>('keys', 'show', parent.id);
      const [shown, listed, enabled] = await place.runAll([
        ['keys', 'show', child.id],
        ['keys', 'list'],
        ['keys', 'enable', child.id],
      ]);
      assert.match(shown?.stdout ?? '', new RegExp(`^state +disabled by ${name}$`, 'm'));
      assert.match(listed?.stdout ?? '', new RegExp(`${child.id}.*  disabled by ${name}  `));
      assert.match(enabled?.stderr ?? '', new RegExp(`until ${name} is enabled: .* keys enable ${name}$`, 'm'));
      await place.json('keys', 'enable', parent.id);
      await place.json('keys', 'delete', parent.id, '--yes');
      assert.equal((await complete(child)).status, 401);
      assert.equal((await place.json<KeyJson>('keys', 'show', child.id)).state, 'deleted');
    });

    test('`GET /v1/key` has the groups from the inside out, with what remains of them', async () => {
      const outer = await newGroup('--budget', 'day=100');
      const inner = await newGroup('--in', `@${outer.name}`, '--rpm', '5');
      const key = await newKey('--in', `@${inner.name}`);
      await complete(key);
      const { groups } = JSON.parse((await ask('/v1/key', key.key, {})).text);
      const [first, second] = groups;
      assert.deepEqual([first.name, second.name], [inner.name, outer.name]);
      assert.deepEqual(first.limits, { rpm: 5, tpm: null, concurrency: null });
      assert.deepEqual(first.remaining, { requests: 4, tokens: null, concurrency: null });
      assert.deepEqual([first.spend_limit_usd, first.budgets], [null, []]);
      assert.equal(second.budgets[0].limit_usd, '100.00');
    });

    test('`explain` has the figures of each level, and says what to type for the one that refuses', async () => {
      const group = await newGroup('--rpm', '1', '--budget', 'day=5');
      const key = await newKey('--in', `@${group.name}`, '--user-rpm', '9');
      await complete(key);
      const asked = { model: 'mock/echo', messages: [{ role: 'user', content: 'Hi' }], user: 'zoe' };
      place.write('body.json', JSON.stringify(asked));
      const words = ['explain', 'body.json', '--key', key.id];
      const { status, steps } = await place.json<{ status: number; steps: ExplainedStep[] }>(...words);
      const shown = steps
        .filter(({ level }) => level !== undefined)
        .map(({ step, level, limit }) => [step, level, limit]);
      const of = { kind: 'group', name: group.name };
      assert.equal(status, 429);
      assert.deepEqual(shown, [
        ['budget', of, undefined],
        ['requests_per_minute', { kind: 'user', name: key.name, of: 'key', own: [] }, 9],
        ['requests_per_minute', of, 1],
        ['held_money', of, undefined],
      ]);
      const refused = steps.filter((each) => each.status === 'refused');
      assert.deepEqual(
        refused.map(({ step, level }) => [step, level]),
        [['requests_per_minute', of]],
      );
      const { stdout } = await place.run(words);
      assert.ok(stdout.includes(`inf-gw limits set @${group.name} --rpm 2`), stdout);
    });

    test('`explain` says what to type where a group, an end user or the key around a child is switched off', async () => {
      const { name } = await newGroup('--allow', 'mock/echo', '--allow', 'mock/paid');
      const key = await newKey('--in', `@${name}`, '--user-rpm', '9', '--may-create');
      const child = JSON.parse((await ask('/v1/keys', key.key, { name: 'child' })).text) as { id: string };
      place.write(
        'body.json',
        JSON.stringify({ model: 'mock/echo', messages: [{ role: 'user', content: 'Hi' }], user: 'zoe' }),
      );
      const said = async (of: string, ...words: string[]) => {
        await place.json(...words);
        const explain = ['explain', 'body.json', '--key', of];
        const { status, steps } = await place.json<{ status: number; steps: ExplainedStep[] }>(...explain);
        const [refused, ...others] = steps.filter((each) => each.status === 'refused');
        assert.deepEqual([status, others], [403, []]);
        const { stdout } = await place.run(explain);
        return [refused?.step, /^To let it through: inf-gw (.*)$/m.exec(stdout.replaceAll(/ *\n +/g, ' '))?.[1]];
      };
      assert.deepEqual(await said(key.id, 'keys', 'disable', `@${name}`), ['key', `keys enable @${name}`]);
      await place.json('keys', 'enable', `@${name}`);
      const block = ['users', 'block', 'zoe', '--key', key.id];
      const unblock = `users unblock '<user>' --key ${key.name}`;
      assert.deepEqual(await said(key.id, ...block), ['end_user', unblock]);
      await place.json('users', 'unblock', 'zoe', '--key', key.id);
      const without = ['allowlist', 'remove', `@${name}`, 'mock/echo'];
      assert.deepEqual(await said(key.id, ...without), ['allowlist', `allowlist add @${name} mock/echo`]);
      assert.deepEqual(await said(child.id, 'keys', 'disable', key.id), ['key', `keys enable ${key.name}`]);
    });

    test('what stops an end user is raised where it is set: for all of a key or a group, or for them alone', async () => {
      const { name } = await newGroup();
      const key = await newKey('--in', `@${name}`);
      const zoe = { user: 'zoe', model: 'mock/echo' };
      place.write('zoe.json', JSON.stringify({ ...zoe, messages: [{ role: 'user', content: 'Hi' }] }));
      for (const [set, said] of [
        [['limits', 'set', key.id, '--user-spend-limit', '0'], `limits set ${key.name} --user-spend-limit <usd>`],
        [['limits', 'set', key.id, '--user-spend-limit', 'none'], undefined],
        [['limits', 'set', `@${name}`, '--user-budget', 'day=0'], `limits set @${name} --user-budget day=<usd>`],
        [['users', 'set', 'zoe', '--key', `@${name}`, '--budget', 'day=1'], undefined],
        [
          ['users', 'set', 'zoe', '--key', `@${name}`, '--budget', 'day=0'],
          `users set <user> --key @${name} --budget day=<usd>`,
        ],
      ] as const) {
        await place.json(...set);
        const { status, error } = await complete(key, zoe);
        assert.equal(status, said === undefined ? 200 : 402);
        if (said === undefined) continue;
        assert.ok(error.message.endsWith(`inf-gw ${said}`), error.message);
        const { stdout } = await place.run(['explain', 'zoe.json', '--key', key.id]);
        const shown = stdout.replaceAll(/\s+/g, ' ').replaceAll("'", '');
        assert.ok(shown.includes(`inf-gw ${said.replace('<key>', key.name).replace('<usd>', '10')}`), stdout);
      }
    });

    test('a key that another has made counts in the group of that, until that is deleted', async () => {
      const { name } = await newGroup();
      const parent = await newKey('--in', `@${name}`, '--may-create');
      assert.equal((await ask('/v1/keys', parent.key, { name: 'child' })).status, 201);
      const counted = async () => [
        (await place.json<GroupJson & { keys: number }>('groups', 'show', `@${name}`)).keys,
        (await place.json<unknown[]>('keys', 'list', '--group', `@${name}`)).length,
      ];
      assert.deepEqual(await counted(), [2, 2]);
      await place.json('keys', 'delete', parent.id, '--yes');
      assert.deepEqual(await counted(), [0, 0]);
    });

    test('`explain` says of all levels without a gateway what a running one says', async () => {
      const outer = await newGroup('--budget', 'day=1', '--user-rpm', '1', '--user-spend-limit', '9');
      const inner = await newGroup('--in', `@${outer.name}`, '--tpm', '100000', '--concurrency', '3');
      const parent = await newKey('--in', `@${inner.name}`, '--may-create', '--user-rpm', '8');
      const child = JSON.parse((await ask('/v1/keys', parent.key, { name: 'child' })).text) as {
        id: string;
        key: string;
      };
      await place.json('users', 'set', 'ann', '--key', `@${outer.name}`, '--rpm', '7');
      for (const user of ['ann', 'ann', 'zoë']) assert.equal((await complete(child, { user })).status, 200);
      const messages = [{ role: 'user', content: 'Hi' }];
      const said = async (user: string, isInHeader = false) => {
        const named = isInHeader ? {} : { user };
        place.write('body.json', JSON.stringify({ model: 'mock/echo', messages, ...named, n: 1 }));
        const options = isInHeader ? ['--user', user] : [];
        type Said = { code: string | null; steps: ExplainedStep[] };
        const { code, steps } = await place.json<Said>('explain', 'body.json', '--key', child.id, ...options);
        return [
          code,
          steps.map(({ step, status, level, limit, limit_usd, spent_usd, used }) => ({
            step,
            status,
            level,
            limit,
            limit_usd,
            spent_usd,
            used,
          })),
        ];
      };
      const live = [await said('ann'), await said('zoë')];
      assert.deepEqual(
        live.map(([code]) => code),
        [null, 'rate_limited'],
      );
      assert.deepEqual([await said('ann', true), await said('zoë', true)], live);
      await gateway.stop();
      assert.deepEqual([await said('ann'), await said('zoë', true)], live);
      gateway = await place.serveHere();
    });

    test('and the books agree', async () => {
      assert.equal((await place.json<{ ok: boolean }>('audit')).ok, true);
    });
  });
}
