/** `doctor` on files, states and gateways: each fault has its finding, serving fails exactly where it says so, and nothing changes. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { checkOpenFiles } from '../../src/doctor/doctor.ts';
import { CONFIG, linesOf, Workplace } from '../support/cli.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { edit, fill } from '../support/full-file.ts';

interface FindingJson {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly fix: string | null;
}

/** The findings that are not `ok`, and whether the command succeeded. */
async function examined(place: Workplace) {
  const { status, stdout, stderr } = await place.run(['doctor', '--json']);
  assert.equal(stderr, '');
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: readonly FindingJson[] };
  assert.equal(ok, status === 0);
  assert.equal(ok, !checks.some((check) => check.status === 'error'));
  const faults = checks.filter((check) => check.status !== 'ok');
  return { ok, checks, faults: faults.map(({ name, status, message }) => `${status} ${name}: ${message}`) };
}

interface Case {
  readonly what: string;
  readonly harm: (place: Workplace) => void;
  /** One for each finding that is not `ok`. */
  readonly faults: readonly RegExp[];
}

function overwrite({ statePath }: Workplace, from: number, to: number): void {
  writeFileSync(statePath, readFileSync(statePath).fill(0xa5, from, to));
}

const CASES: readonly Case[] = [
  { what: 'nothing', harm: () => {}, faults: [] },
  {
    what: 'a config that others can change, and a state that they can read',
    harm: (place) => {
      chmodSync(join(place.directory, 'config.yaml'), 0o666);
      chmodSync(place.statePath, 0o644);
    },
    faults: [/^warning config file: other users can change/, /^warning state file: other users can use/],
  },
  {
    what: 'a key in a config that others can read',
    harm: (place) => {
      const provider = '  a: { kind: openai, base_url: "http://127.0.0.1:9", api_key: sk-written-down, models: {} }\n';
      chmodSync(place.write('config.yaml', CONFIG + provider), 0o644);
    },
    faults: [
      /^warning config file: other users can read .*, which has a provider's key in it/,
      /^error provider a: TCP/,
    ],
  },
  {
    what: 'a folder in which others can replace files',
    harm: (place) => chmodSync(place.directory, 0o777),
    faults: [/^warning state folder: other users can replace files in/],
  },
  { what: 'a damaged header', harm: (place) => overwrite(place, 0, 100), faults: [/^error state: it cannot be read/] },
  { what: 'damaged pages', harm: (place) => overwrite(place, 8192, 40_000), faults: [/^error state: /] },
  {
    what: 'figures that do not agree',
    harm: ({ statePath }) => edit(statePath, (database) => database.exec('UPDATE account SET balance_nanos = 7')),
    faults: [/^warning state: its figures do not agree: balance$/],
  },
  {
    what: 'a state of a newer version',
    harm: ({ statePath }) => edit(statePath, (database) => database.pragma('user_version = 99')),
    faults: [/^error state: written by a newer inf-gw \(schema version 99; this one knows \d+\)$/],
  },
  ...[0, -1].map((version) => ({
    what: `a state of the invalid version ${version}`,
    harm: ({ statePath }: Workplace) => edit(statePath, (database) => database.pragma(`user_version = ${version}`)),
    faults: [new RegExp(`^error state: it has tables, and the invalid schema version ${version}$`)],
  })),
  {
    what: 'the file of another program',
    harm: ({ statePath }) => edit(statePath, (database) => database.pragma('application_id = 7')),
    faults: [/^error state: \S+state\.db belongs to another program$/],
  },
  {
    what: 'a folder in the place of the state',
    harm: ({ statePath }) => {
      rmSync(statePath);
      mkdirSync(statePath);
    },
    faults: [/^error state file: \S+state\.db is not a file$/, /^error state: it cannot be read/],
  },
  {
    what: 'a config with two faults',
    harm: (place) => place.write('config.yaml', 'listen: 1\ncolour: red\n'),
    faults: [/^error config: config\.yaml:1:1: listen: /, /^error config: config\.yaml:2:1: colour: unknown key/],
  },
];

describe('`doctor` finds', () => {
  for (const { what, harm, faults } of CASES) {
    test(what, async (t) => {
      const place = new Workplace(t);
      chmodSync(join(place.directory, 'config.yaml'), 0o600);
      fill(place.statePath);
      harm(place);
      const names = readdirSync(place.directory);
      const found = await examined(place);
      assert.equal(found.faults.length, faults.length, found.faults.join('\n'));
      for (const [index, fault] of faults.entries()) assert.match(found.faults[index] ?? '', fault);
      assert.deepEqual(readdirSync(place.directory), names);
    });
  }
});

describe('`doctor`', () => {
  test('says the same to people, in a fixed order, with what to do in the next line', async (t) => {
    const place = new Workplace(t);
    fill(place.statePath);
    chmodSync(place.statePath, 0o644);
    const { status, stdout } = await place.run(['doctor']);
    assert.equal(status, 0);
    const lines = linesOf(stdout);
    const names = lines.flatMap((line) => /^(?:ok|warning|error) +([^:]+):/.exec(line)?.[1] ?? []);
    assert.deepEqual(names, [
      'config file',
      'address',
      'state file',
      'disk',
      'state',
      'node',
      'open files',
      'clock',
      'provider mock',
    ]);
    const at = lines.findIndex((line) => line.startsWith('warning  state file: '));
    assert.equal(lines[at + 1], `         chmod 600 ${place.statePath}`);
    assert.equal(lines.at(-1), '0 errors, 1 warning.');
    assert.ok(stdout.includes('requests; everything agrees') && !stdout.includes('\u001b'));
  });

  test('says once what to do about several in a row', async (t) => {
    const unset = (name: string) =>
      `  ${name}: { kind: openai, base_url: "http://127.0.0.1:9", api_key: "\${NO_${name}}", models: {} }\n`;
    const place = new Workplace(t, CONFIG + unset('a') + unset('b'));
    const { stdout } = await place.run(['doctor']);
    assert.deepEqual(linesOf(stdout).slice(-5), [
      'warning  provider a: left out: NO_a is not set',
      'warning  provider b: left out: NO_b is not set',
      '         set it where the gateway is started, or remove the provider from the config',
      '',
      '0 errors, 2 warnings.',
    ]);
  });

  test('works outside an installation, and creates nothing', async (t) => {
    const place = new Workplace(t, null);
    const { ok, faults } = await examined(place);
    assert.deepEqual(readdirSync(place.directory), []);
    assert.equal(faults[0], 'warning config file: there is none: the defaults apply, with the mock provider alone');
    // The default port may be in use on this machine.
    assert.equal(ok, !faults.some((line) => line.startsWith('error address')));
  });

  test('asks a gateway that runs, and finds an address that is taken', async (t) => {
    const place = new Workplace(t);
    const gateway = await place.serveHere();
    const running = await examined(place);
    assert.equal(running.ok, true, running.faults.join('\n'));
    const port = new URL(gateway.url).port;
    const { message } = running.checks.find(({ name }) => name === 'gateway') ?? {};
    assert.match(
      message ?? '',
      new RegExp(`^ready at 127\\.0\\.0\\.1:${port}: version \\S+, process ${gateway.pid}, up `),
    );
    place.write('config.yaml', CONFIG.replace(':0', ':1'));
    assert.match(
      (await examined(place)).faults.join('\n'),
      /^warning gateway: it listens on \S+, but the config says 127/m,
    );
    await gateway.stop();

    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    t.after(() => other.close());
    const { port: taken } = other.address() as { port: number };
    place.write('config.yaml', CONFIG.replace(':0', `:${taken}`));
    const { ok, faults } = await examined(place);
    assert.equal(ok, false);
    assert.match(faults.join('\n'), /^error address: 127\.0\.0\.1:\d+ is in use, perhaps by another inf-gw serve$/m);
    place.write('config.yaml', `metrics: 127.0.0.1:${taken}\n${CONFIG}`);
    assert.match((await examined(place)).faults.join('\n'), /^error metrics: 127\.0\.0\.1:\d+ is in use/m);
  });

  test('asks with the packages of Amazon and Google that were built into the program', async (t) => {
    const host = await FakeUpstream.start();
    t.after(() => host.close());
    const address = `127.0.0.1:${host.port}`;
    host.follow((call) => {
      const token = { access_token: 'token', expires_in: 3_600, token_type: 'Bearer' };
      call.answer(200, call.path.includes('/token') ? token : {}, { 'metadata-flavor': 'Google' });
    });
    const place = new Workplace(
      t,
      `${CONFIG}  amazon: { kind: bedrock, region: eu-west-1, base_url: "http://${address}", models: {} }
  google: { kind: vertex, project: p-1, region: global, base_url: "http://${address}/v1", models: {} }
`,
    );
    Object.assign(place.environment, {
      AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
      AWS_SECRET_ACCESS_KEY: 'secret',
      CLOUDSDK_CONFIG: place.directory,
      GCE_METADATA_HOST: address,
      METADATA_SERVER_DETECTION: 'assume-present',
    });
    // A process of its own, that loads what is in the build.
    const { stdout } = await place.runAlone(['doctor', '--json']);
    const { checks } = JSON.parse(stdout) as { checks: readonly FindingJson[] };
    for (const name of ['provider amazon', 'provider google']) {
      const { message } = checks.find((check) => check.name === name) ?? {};
      assert.equal(message, 'answers, and accepts its credentials');
    }
    const asked = host.calls.filter((call) => call.header('authorization') !== undefined).map(({ path }) => path);
    assert.deepEqual(asked.sort(), ['/foundation-models', '/v1beta1/publishers/google/models']);
  });

  test('warns of fewer open files than connections may need', () => {
    const config = { maxConnections: 8192, threads: 1 };
    assert.equal(checkOpenFiles({ ...config, maxConnections: 1 }, undefined).status, 'ok');
    assert.equal(checkOpenFiles(config, { limit: 65_536, room: 8192 }).message, '65,536 at a time, of the gateway');
    assert.equal(
      checkOpenFiles(config, { limit: 1024, room: 384 }).message,
      'the gateway may open 1024 files, so it takes 384 connections and not max_connections: 8192 (16,640 would do)',
    );
    assert.match(
      checkOpenFiles({ ...config, maxConnections: 1e12 }, undefined).message,
      /^a gateway that is started like this may open \d+ files, so it takes \d+ connections/,
    );
  });
});
