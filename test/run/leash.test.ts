/** What a host bills for commands on a leash, as real processes: however many requests race, and whatever they declare. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { mintKey } from '../../src/core/api-key.ts';
import type { Explanation } from '../../src/core/explanation.ts';
import { parseUsd } from '../../src/core/money.ts';
import { completion } from '../support/answers.ts';
import { CONCURRENCY, CONFIG, type KeyJson, linesOf, PROGRAM, type Result, Workplace } from '../support/cli.ts';
import { FakeUpstream, type Script } from '../support/fake-upstream.ts';
import { PostgresServer } from '../support/postgres.ts';

const RACER = fileURLToPath(new URL('racer.ts', import.meta.url));

/** In nanodollars per token, of input and output. */
const PRICE = 10_000n;
const INPUT_TOKENS = 10;
/** What a model of the config is held for, and what it writes if nobody keeps it from that. */
const DEFAULT_OUTPUT = 512;
const MOST_OUTPUT = 16_384;
/** The maximum that a leash sets where neither the budget nor the model bounds it. */
const UNKNOWN_MAX_OUTPUT = 32_768;
/** The first step of a request without a maximum, by which racing requests may pass a leash. */
const ONE_REQUEST = BigInt(INPUT_TOKENS + DEFAULT_OUTPUT) * PRICE;
const RACERS = 30;

interface Maxima {
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
}

/** A host that writes as much as `max_tokens` lets it, and knows no other maximum. */
class GreedyHost {
  billedNanos = 0n;
  readonly maxima: Maxima[] = [];
  readonly script: Script = (call) => {
    const { max_tokens: read, max_completion_tokens: other } = JSON.parse(call.body) as Maxima;
    this.maxima.push({
      ...(read !== undefined && { max_tokens: read }),
      ...(other && { max_completion_tokens: other }),
    });
    const written = read ?? MOST_OUTPUT;
    const usage = { prompt_tokens: INPUT_TOKENS, completion_tokens: written, total_tokens: INPUT_TOKENS + written };
    this.billedNanos += BigInt(usage.total_tokens) * PRICE;
    call.answer(200, completion('Done.', { usage }));
  };
}

/** A workplace whose gateway has enough credit, with a model at such a host. */
async function greedyPlace(
  t: TestContext,
  state = './state.db',
): Promise<{ readonly place: Workplace; readonly host: GreedyHost }> {
  const upstream = await FakeUpstream.start();
  t.after(() => upstream.close());
  const host = new GreedyHost();
  upstream.follow(host.script);
  const address = `http://127.0.0.1:${upstream.port}/v1`;
  const provider = `  host: { kind: openai, base_url: '${address}', models: { paid: { input: 10, output: 10 } } }\n`;
  const place = new Workplace(t, `${CONFIG.replace('./state.db', state)}${provider}`);
  await place.run(['credit', 'add', '100']);
  return { place, host };
}

interface ReceiptJson {
  readonly key: { readonly id: string };
  readonly outer: { readonly id: string } | null;
  readonly inner_runs: number;
  readonly requests: number;
  readonly state: string;
  readonly leash: string | null;
  readonly cut_answers: number;
  readonly cost_usd: string;
}

/** Those of the runs inside first. */
function receiptsOf({ status, stderr }: Result): ReceiptJson[] {
  assert.equal(status, 0, stderr);
  const lines = linesOf(stderr).filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as ReceiptJson);
}

function receiptOf(result: Result): ReceiptJson {
  return receiptsOf(result).at(-1) ?? assert.fail(result.stderr);
}

const leash = (usd: string, ...command: readonly string[]) => ['run', '--max-usd', usd, '--json', '--', ...command];
/** The same as a command. */
const inner = (usd: string, ...command: readonly string[]) => [process.execPath, PROGRAM, ...leash(usd, ...command)];
const once = (fields: Maxima = {}) => [process.execPath, RACER, JSON.stringify(fields)];
const race = () => [...once(), `${RACERS}`];
/** A command that runs another one so many times at once. */
const times = (count: number, ...command: readonly string[]) => [
  ...['sh', '-c', `for i in $(seq ${count}); do "$@" & done; wait`, 'times'],
  ...command,
];
const nanosOf = ({ cost_usd: usd }: ReceiptJson) => parseUsd(usd) ?? assert.fail(usd);

describe('racing requests without maxima', { concurrency: CONCURRENCY }, () => {
  for (const where of ['beside a running gateway', 'with a gateway of its own']) {
    test(`cost a leash of 0.05 USD less than one request more, ${where}`, async (t) => {
      const { place, host } = await greedyPlace(t);
      if (where === 'beside a running gateway') await place.serve();
      const receipt = receiptOf(await place.runAlone(leash('0.05', ...race())));
      assert.ok(
        host.billedNanos >= 50_000_000n - ONE_REQUEST,
        `billed too little to say anything: ${host.billedNanos}`,
      );
      assert.ok(host.billedNanos < 50_000_000n + ONE_REQUEST, `billed ${host.billedNanos}`);
      assert.equal(Number(receipt.cost_usd), Number(host.billedNanos) / 1e9);
    });
  }
});

test('a leash caps output in the field that the host reads and counts cut answers; no key that run has not made is capped', async (t) => {
  const { place, host } = await greedyPlace(t);
  const serving = await place.serve();
  const { key, cut_answers: cut } = receiptOf(await place.runAlone(leash('1', ...once())));
  assert.equal(cut, 1);
  for (const fields of [{ max_tokens: 7 }, { max_completion_tokens: 8 }, { max_tokens: 7, max_completion_tokens: 9 }]) {
    receiptOf(await place.runAlone(leash('1', ...once(fields))));
  }
  const other = await place.createKey('other', '--budget', 'total=1', '--expires', '1h');
  const messages = [{ role: 'user', content: 'Go on.' }];
  await serving.chat(other.key, { model: 'host/paid', messages });
  assert.deepEqual(host.maxima, [
    { max_tokens: UNKNOWN_MAX_OUTPUT },
    { max_tokens: 7 },
    { max_tokens: 8 },
    { max_tokens: 7, max_completion_tokens: 9 },
    {},
  ]);
  await place.run(['keys', 'enable', key.id]);
  place.write('body.json', JSON.stringify({ model: 'host/paid', messages }));
  for (const [name, isCapped] of [
    [key.id, true],
    ['other', false],
  ] as const) {
    const { steps } = await place.json<Explanation>('explain', 'body.json', '--key', name);
    assert.partialDeepStrictEqual(
      steps.find(({ step }) => step === 'hold'),
      { cap_output: isCapped },
    );
  }
});

describe('a run inside of a run', { concurrency: CONCURRENCY }, () => {
  const OUTER = 50_000_000n;
  let server: PostgresServer;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.stop());

  for (const where of ['beside a running gateway', 'with the gateway of the outer one', 'on a database']) {
    test(`is part of the outer leash, however many race and whatever they may spend, ${where}`, async (t) => {
      const { place, host } = await greedyPlace(
        t,
        where === 'on a database' ? await server.createDatabase() : './state.db',
      );
      if (where === 'beside a running gateway') await place.serve();
      const racers = inner('0.04', ...inner('1', ...race()));
      const receipts = receiptsOf(await place.runAlone(leash('0.05', ...times(2, ...racers))));
      const outer = receipts.pop() as ReceiptJson;
      assert.ok(host.billedNanos >= OUTER - ONE_REQUEST, `billed too little to say anything: ${host.billedNanos}`);
      assert.ok(host.billedNanos < OUTER + ONE_REQUEST, `billed ${host.billedNanos}`);
      assert.equal(nanosOf(outer), host.billedNanos);
      assert.deepEqual([outer.outer, outer.inner_runs, outer.requests], [null, 4, host.maxima.length]);
      const middle = receipts.filter((receipt) => receipt.outer?.id === outer.key.id);
      assert.deepEqual(
        middle.map(({ inner_runs: runs }) => runs),
        [1, 1],
      );
      assert.equal(
        middle.reduce((sum, receipt) => sum + nanosOf(receipt), 0n),
        host.billedNanos,
      );
      for (const receipt of middle) assert.ok(nanosOf(receipt) < 40_000_000n + ONE_REQUEST, receipt.cost_usd);
      assert.equal((await place.run(['audit'])).status, 0);
    });
  }

  test('takes its models and its time from the outer one, and is refused what that does not have', async (t) => {
    const { place } = await greedyPlace(t);
    place.write('other.yaml', CONFIG);
    const run = `'${process.execPath}' '${PROGRAM}' run --max-usd 1`;
    const script = [
      'echo "$INF_GW_RUN"; echo "$INF_GW_URL"',
      `${run} --name inner --for 2h -- true`,
      `${run} --allow mock/echo -- true`,
      `cd /; ${run} -c '${place.directory}/other.yaml' -- true`,
    ];
    const options = ['--max-usd', '0.5', '--allow', 'host/paid', '--for', '1h', '--name', 'outer'];
    const { stdout, stderr } = await place.runAlone(['run', ...options, '--', 'sh', '-c', script.join(';')]);
    assert.match(stderr, /^note: the run around this one has 0.50 USD left, which bounds this one as well$/m);
    assert.match(stderr, /^inside +outer \(key_\w+\)$/m);
    assert.match(stderr, /^error: --allow mock\/echo: the run around this one, outer, may not call it$/m);
    assert.match(stderr, /^error: this is inside another run, .*: leave --config out$/m);
    assert.match(stderr, /^inside it +1 run, counted above$/m);
    const [outer, made] = await place.json<KeyJson[]>('keys', 'list');
    assert.deepEqual([made?.name, made?.allowlist, made?.expires_at], ['inner', ['host/paid'], outer?.expires_at]);

    const [variable = '', url = ''] = linesOf(stdout);
    Object.assign(place.environment, { INF_GW_RUN: variable, INF_GW_URL: url });
    for (const [value, message] of [
      [variable, /the run around this one has ended: its key outer is not in force any more/],
      [variable.replace(/^\w+/, 'key_none'), /the run around this one has no key key_none in .*state\.db/],
      ['anything', /INF_GW_RUN and INF_GW_URL are not as `inf-gw run` sets them/],
    ] as const) {
      place.environment.INF_GW_RUN = value;
      const late = await place.run(leash('1', 'true'));
      assert.deepEqual([late.status, message.test(late.stderr)], [1, true], late.stderr);
    }
  });

  test('finds the gateway of one that has no config', async (t) => {
    const place = new Workplace(t, null);
    place.environment.XDG_STATE_HOME = join(place.directory, 'state');
    const [first, last] = receiptsOf(await place.runAlone(leash('1', ...inner('1', 'true'))));
    assert.deepEqual([first?.outer?.id, first?.state, last?.inner_runs], [last?.key.id, last?.state, 1]);
  });
});

describe('with a key that may make others, far from the config and the state of its gateway', () => {
  /** Where a command has nothing but the address and a key. */
  async function farFrom(t: TestContext, ...options: readonly string[]) {
    const { place, host } = await greedyPlace(t);
    const serving = await place.serve();
    const parent = await place.createKey('agent', ...options);
    const far = new Workplace(t, null);
    far.environment.XDG_STATE_HOME = join(far.directory, 'state');
    Object.assign(far.environment, { INF_GW_URL: serving.url, INF_GW_KEY: parent.key });
    return { place, host, far, parent };
  }

  test('a run has a child key on its leash, as exact as any, and the receipt is what the host billed', async (t) => {
    const { place, host, far, parent } = await farFrom(t, '--may-create', '--budget', 'total=0.08', '--expires', '1h');
    const said = await far.runAlone(leash('0.05', ...race()));
    const receipt = receiptOf(said);
    assert.ok(host.billedNanos >= 50_000_000n - ONE_REQUEST, `billed too little to say anything: ${host.billedNanos}`);
    assert.ok(host.billedNanos < 50_000_000n + ONE_REQUEST, `billed ${host.billedNanos}`);
    assert.equal(nanosOf(receipt), host.billedNanos);
    assert.deepEqual([receipt.requests, receipt.leash], [host.maxima.length, 'budget']);
    const [own, child] = await place.json<KeyJson[]>('keys', 'list', '--all');
    assert.deepEqual([own?.id, child?.id, child?.state], [parent.id, receipt.key.id, 'deleted']);
    assert.equal(child?.expires_at, own?.expires_at);
    const { stderr } = await far.runAlone(['run', '--max-usd', '0.01', '--name', 'once', '--', ...once()]);
    assert.match(stderr, /^cost +0\.\d+ of 0\.01 USD\n *requests +1\n *tokens +[\d,]+\n/m);
    assert.match(stderr, /^ *key +once \(key_\w+\), deleted$/m);
    assert.match(stderr, /^ *cut +1 answer cut at the maximum that the leash set: raise --max-usd$/m);
    assert.equal(receiptOf(await far.runAlone(leash('0.01', ...once({ max_tokens: 10 })))).cut_answers, 0);
    assert.equal((await place.run(['audit'])).status, 0);
  });

  test('a run is told what its key may not have, and one inside of it that such a key makes none', async (t) => {
    const { far } = await farFrom(t, '--may-create', '--budget', 'total=1', '--allow', 'host/paid');
    for (const [status, options, message] of [
      [0, ['--max-usd', '2'], /^note: the key that makes this one has 1\.00 USD, which is the most for this one\n/],
      [
        1,
        ['--max-usd', '1', '--allow', 'mock/echo'],
        /^error: the gateway at http.* refuses to create such a key: allowlist: this key may not call mock\/echo/,
      ],
    ] as const) {
      const said = await far.runAlone(['run', ...options, '--', 'true']);
      assert.deepEqual([said.status, message.test(said.stderr)], [status, true], said.stderr);
    }
    const { stderr } = await far.runAlone(leash('0.5', ...inner('0.1', 'true')));
    assert.match(stderr, /^error: the key of the run around this one was made by another key, and makes none itself/m);
  });

  test('a run inside of a run that only reaches its gateway is on the outer leash as well', async (t) => {
    const { place, host } = await greedyPlace(t);
    const far = new Workplace(t, null);
    // As in a container that has nothing of the folder of the config.
    const script = `cd '${far.directory}'; INF_GW_RUN="\${INF_GW_RUN%%:*}:/nowhere/config.yaml" "$@"`;
    const within = ['sh', '-c', script, 'away', ...inner('1', ...race())];
    const [innermost, outer] = receiptsOf(await place.runAlone(leash('0.05', ...within)));
    assert.ok(host.billedNanos >= 50_000_000n - ONE_REQUEST, `billed too little to say anything: ${host.billedNanos}`);
    assert.ok(host.billedNanos < 50_000_000n + ONE_REQUEST, `billed ${host.billedNanos}`);
    assert.deepEqual(
      [innermost, outer].map((each) => each && nanosOf(each)),
      [host.billedNanos, host.billedNanos],
    );
    assert.deepEqual([outer?.inner_runs, outer?.requests, outer?.leash], [1, host.maxima.length, 'budget']);
  });

  test('a gateway and a key that make no other are none to run with, and why is said', async (t) => {
    const { far, parent } = await farFrom(t);
    const { INF_GW_URL: url } = far.environment;
    const unknown = mintKey();
    for (const [named, key, why] of [
      [url, parent.key, 'the key may not create others; `inf-gw keys create --may-create` makes one that may'],
      [url, unknown, 'Invalid API key. Check that it is complete and has not been deleted.'],
      [url, 'sk-inf-short', 'INF_GW_KEY is not a whole key'],
      ['http://127.0.0.1:1', parent.key, 'http://127.0.0.1:1 cannot be reached'],
      ['here', parent.key, 'INF_GW_URL is not an address'],
    ] as const) {
      Object.assign(far.environment, { INF_GW_URL: named, INF_GW_KEY: key });
      const said = await far.runAlone(leash('1', 'true'));
      assert.match(receiptOf(said).state, /run.inf-gw\.db$/);
      const [note] = said.stderr.split('\n');
      assert.equal(note, `note: the gateway and the key in INF_GW_URL and INF_GW_KEY are not used: ${why}`);
    }
  });
});
