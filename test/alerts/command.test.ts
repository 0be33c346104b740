/** `alerts test` and `alerts list`, and what the config says of alerts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shownTarget } from '../../src/core/alert-targets.ts';
import { CONCURRENCY, CONFIG, Workplace } from '../support/cli.ts';
import { load, problemsOf } from '../support/configs.ts';
import { Receiver } from './receiver.ts';

const PROBLEMS: readonly (readonly [text: string, ...lines: RegExp[]])[] = [
  ['alerts: on', /^1:1: alerts: expected a map with webhooks and command/],
  ['alerts:\n  webhooks: x', /^2:3: alerts\.webhooks: expected a list of webhooks/],
  ['alerts:\n  webhooks: [x]', /^2:14: alerts\.webhooks\.0: expected a map with url, secret and format/],
  ['alerts:\n  webhooks:\n    - { format: json }', /^3:7: alerts\.webhooks\.0\.url: expected a string/],
  [
    'alerts:\n  webhooks:\n    - { url: "ftp://h/SECRET" }',
    /^3:9: alerts\.webhooks\.0\.url: expected an address that begins with https:\/\/ or http:\/\/$/,
  ],
  ['alerts:\n  webhooks:\n    - { url: "h/SECRET" }', /^3:9: alerts\.webhooks\.0\.url: expected an address[^S]*$/],
  ['alerts:\n  webhooks:\n    - { url: $A_URL }', /^3:9: alerts\.webhooks\.0\.url: expected \$\{NAME\}/, /^3:9: /],
  [
    'alerts:\n  webhooks:\n    - { url: "http://h", format: xml }',
    /^3:26: alerts\.webhooks\.0\.format: expected json or slack/,
  ],
  ['alerts:\n  webhooks:\n    - { url: "http://h", header: x }', /^3:26: alerts\.webhooks\.0\.header: unknown key/],
  ['alerts: { command: 5 }', /^1:11: alerts\.command: expected the path of a program, or a list/],
  ['alerts: { command: [] }', /^1:11: alerts\.command: expected/],
];

test('every mistake in `alerts` is a problem with its place, and no address is repeated', () => {
  for (const [text, ...lines] of PROBLEMS) {
    const problems = problemsOf(text);
    assert.equal(problems.length, lines.length, `${text}\n${problems.join('\n')}`);
    for (const [i, line] of lines.entries()) assert.match(problems[i] ?? '', line);
  }
});

test('references are expanded; a target whose variable is not set is left out with a warning', () => {
  const text = `alerts:
  webhooks:
    - { url: "https://hooks.example/\${TOKEN}", secret: "\${HMAC}" }
    - { url: "\${OTHER_URL}", format: slack }
  command: [./notify.sh, "\${TOKEN}"]
`;
  const { alerts, warnings } = load(text, { TOKEN: 'T0/SECRET', HMAC: 'abc' });
  const [hook, other, command] = alerts;
  assert.ok(hook?.kind === 'webhook' && command?.kind === 'command');
  assert.deepEqual([hook.url, hook.secret, hook.format], ['https://hooks.example/T0/SECRET', 'abc', 'json']);
  assert.equal(shownTarget(hook), 'https://hooks.example/…');
  assert.equal(other?.missingVariable, 'OTHER_URL');
  assert.match(command.words[0] ?? '', /^\/.+\/notify\.sh$/);
  assert.equal(command.words[1], 'T0/SECRET');
  assert.deepEqual(warnings, ['alerts: no webhook 2, because OTHER_URL is not set']);
  assert.deepEqual(load('alerts: { command: notify }').alerts[0], {
    kind: 'command',
    name: 'command',
    words: ['notify'],
    missingVariable: undefined,
  });
});

describe('`alerts`', { concurrency: CONCURRENCY }, () => {
  test('`test` tells every target at once, prints what each answered, and fails if one does', async (t) => {
    const receiver = await Receiver.start(t);
    const targets = (code: number) => `alerts:
  webhooks:
    - { url: "${receiver.url('/SECRET')}", secret: "hmac-secret" }
    - { url: "${receiver.url('/slack')}", format: slack }
  command: [sh, -c, "cat > told; exit ${code}"]
`;
    const place = new Workplace(t, CONFIG + targets(0));
    const fine = await place.json<{ ok: boolean; targets: { target: string; answer: string }[] }>('alerts', 'test');
    assert.equal(fine.ok, true);
    assert.deepEqual(
      fine.targets.map(({ target, answer }) => [target, answer]),
      [
        ['webhook 1', '200'],
        ['webhook 2', '200'],
        ['command', 'exit status 0'],
      ],
    );
    assert.equal(JSON.parse(place.read('told').toString()).kind, 'test');
    assert.equal(receiver.received.length, 2);
    place.write('config.yaml', CONFIG + targets(4));
    const failed = await place.run(['alerts', 'test']);
    assert.equal(failed.status, 1);
    assert.match(failed.stdout, /^webhook 1 +http:\/\/127\.0\.0\.1:\d+\/… +delivered +200 /m);
    assert.match(failed.stdout, /^command +sh +failed +exit status 4 /m);
    const line =
      'error: command (sh) did not take the test event: exit status 4; correct it, or its entry under `alerts:` in the config\n';
    assert.equal(failed.stderr, line);
    const json = await place.run(['alerts', 'test', '--json']);
    assert.deepEqual([json.status, JSON.parse(json.stdout).ok, json.stderr], [1, false, line]);
    const checked = await place.run(['config', 'check']);
    assert.match(checked.stdout, /^alerts to webhook 1 +http:\/\/127\.0\.0\.1:\d+\/… \(json, signed\)$/m);
    const shown = [failed, checked, await place.run(['config', 'check', '--json'])];
    for (const { stdout, stderr } of shown) assert.doesNotMatch(stdout + stderr, /SECRET|hmac-secret/);
  });

  test('`test` prints a line on stderr for each target that fails, with what to do about it', async (t) => {
    const receiver = await Receiver.start(t);
    const place = new Workplace(
      t,
      `${CONFIG}alerts:
  webhooks:
    - { url: "${receiver.url('/fine')}" }
    - { url: "http://127.0.0.1:1/SECRET" }
    - { url: "\${NO_SUCH_URL}" }
`,
    );
    const { status, stderr } = await place.run(['alerts', 'test']);
    assert.equal(status, 1);
    assert.match(
      stderr,
      /^error: webhook 2 \(http:\/\/127\.0\.0\.1:1\/…\) did not take the test event: [^\n]+; correct it, or its entry [^\n]+\nerror: webhook 3 \([^\n]*\) did not take the test event: not sent: the variable NO_SUCH_URL is not set; set NO_SUCH_URL, [^\n]+\n$/m,
    );
    assert.doesNotMatch(stderr, /SECRET/);
  });

  test('without any target, `test` says where to add one, and `list` that nothing was told', async (t) => {
    const place = new Workplace(t, CONFIG);
    const { status, stderr } = await place.run(['alerts', 'test']);
    assert.equal(status, 1);
    assert.match(stderr, /config\.yaml has no `alerts:`, so alerts go nowhere; add webhooks or a command/);
    await place.createKey('app');
    assert.match((await place.run(['alerts', 'list'])).stdout, /^No alerts yet\./);
    assert.deepEqual(await place.json('alerts', 'list'), []);
  });
});
