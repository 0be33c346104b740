/** Commands on a leash, as real processes: their budget, their receipt, their key, their signals and how they end. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../src/cli/run/child.ts';
import { parseUsd } from '../../src/core/money.ts';
import { lockState } from '../../src/state/sqlite/lock.ts';
import { chunk, completion } from '../support/answers.ts';
import { CONCURRENCY, CONFIG, type KeyJson, linesOf, PATHS, Workplace } from '../support/cli.ts';
import { FakeUpstream, type Script } from '../support/fake-upstream.ts';
import { bounded, until } from '../support/wait.ts';

const fileHere = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** How often a stream brings a piece of about a hundred tokens. */
const PIECE_MS = 100;
/**
 * 0.28 USD. A stream that is cut is charged all that its host has written by then, however long a busy machine keeps the
 * gateway from reading and counting it: from here on the host writes a fiftieth of that.
 */
const MANY_PIECES = 28;

/** 0.30 USD for an answer. A stream obeys no maximum, and does not end until it is cut. */
const HOST: Script = async (call) => {
  if (!call.body.includes('"stream":true')) {
    const usage = { prompt_tokens: 1_000, completion_tokens: 2_000, total_tokens: 3_000 };
    return call.answer(200, completion('Done.', { usage }));
  }
  call.stream();
  let isCut = false;
  const end = call.closed.then(() => {
    isCut = true;
  });
  for (let sent = 0; !isCut; sent++) {
    call.send(chunk('word '.repeat(sent < MANY_PIECES ? 100 : 2)));
    await setTimeout(PIECE_MS);
  }
  await end;
};

interface ReceiptJson {
  readonly status: number;
  readonly key: { readonly id: string; readonly name: string };
  readonly leash: string | null;
  readonly cost_usd: string;
  readonly requests: number;
  readonly errors: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly models: readonly { readonly model: string; readonly cost_usd: string }[];
  readonly failures: readonly { readonly why: string; readonly requests: number }[];
  readonly refusals: readonly { readonly code: string; readonly requests: number }[];
  readonly in_flight: number;
  readonly state: string;
}

interface RowJson {
  readonly cost_usd: string;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

/** A workplace with a model that costs, at a host that answers as scripted. The gateway has enough credit. */
async function paidPlace(t: TestContext): Promise<{ readonly place: Workplace; readonly upstream: FakeUpstream }> {
  const upstream = await FakeUpstream.start();
  t.after(() => upstream.close());
  upstream.follow(HOST);
  const host = `  host:
    kind: openai
    base_url: http://127.0.0.1:${upstream.port}/v1
    api_key: \${SOME_NAME}
    models: { paid: { input: 100, output: 100, default_output: 500, max_output: 100000 } }
`;
  const place = new Workplace(t, `${CONFIG}${host}`);
  Object.assign(place.environment, {
    SOME_NAME: OPERATOR_KEY,
    COPY: OPERATOR_KEY,
    SOME_HEADER: `Authorization: Bearer ${OPERATOR_KEY}`,
    OPENAI_API_KEY: 'operator-other-key',
  });
  await place.run(['credit', 'add', '10']);
  return { place, upstream };
}

const OPERATOR_KEY = 'operator-secret-0001';

describe('an agent on a two-dollar leash', { concurrency: CONCURRENCY }, () => {
  for (const [where, streams] of [
    ['beside a running gateway', []],
    ['with a gateway of its own, in the middle of a stream', ['stream']],
  ] as const) {
    test(`stops at two dollars within one step, and its receipt is equal to the journal, ${where}`, async (t) => {
      const { place, upstream } = await paidPlace(t);
      if (where === 'beside a running gateway') await place.serve();
      const leash = ['--max-usd', '2', '--allow', 'host/paid', '--name', 'agent', '--json'];
      const agent = [process.execPath, fileHere('agent.ts'), 'host/paid', '6', ...streams];
      const { status, stdout, stderr } = await place.runAlone(['run', ...leash, '--', ...agent]);
      assert.equal(status, 7, `${stdout}${stderr}`);
      // On a busy machine the tokens of the stream are estimated, and what it leaves is enough for one more answer.
      assert.match(
        stdout,
        /^operator's key: 0\n(answer: done\n){6}(stream: spend_limit_reached\n)?(after: done\n)?after: spend_limit_reached\nother: model_not_allowed\n$/,
      );
      assert.equal(stdout.includes('stream'), streams.length > 0);
      assert.match(stderr, /^the key of this run is agent; it may spend 2.00 USD$/m);
      assert.match(
        stderr,
        /402 The key agent has reached its total budget of 2.00 USD\. .*: inf-gw limits set agent --budget total=<usd>$/m,
      );
      const { calls } = upstream;
      assert.ok(calls.every((call) => call.header('authorization') === `Bearer ${OPERATOR_KEY}`));

      const receipt = JSON.parse(linesOf(stderr).at(-1) ?? '') as ReceiptJson;
      assert.deepEqual(
        [receipt.status, receipt.leash, receipt.requests, receipt.errors, receipt.in_flight, receipt.state],
        [7, 'budget', calls.length, streams.length, 0, place.statePath],
      );
      assert.deepEqual(receipt.refusals.map(({ code, requests }) => `${code} ${requests}`).toSorted(), [
        'model_not_allowed 1',
        'spend_limit_reached 1',
      ]);
      const cost = nanosOf(receipt.cost_usd);
      assert.ok(cost >= nanosOf('2') && cost < nanosOf('2.30'), `one answer costs 0.30 USD: ${receipt.cost_usd}`);
      const rows = await place.json<RowJson[]>('requests', '--key', receipt.key.id);
      assert.equal(
        rows.reduce((sum, row) => sum + nanosOf(row.cost_usd), 0n),
        cost,
      );
      assert.deepEqual(
        [receipt.prompt_tokens, receipt.completion_tokens],
        [sum(rows, 'prompt_tokens'), sum(rows, 'completion_tokens')],
      );
      const [usage] = await place.json<RowJson[]>('usage', '--key', 'agent');
      assert.equal(usage?.cost_usd, receipt.cost_usd);
      assert.equal((await place.run(['audit'])).status, 0);
      assert.equal((await place.json<KeyJson>('keys', 'show', receipt.key.id)).state, 'disabled');
    });
  }
});

function nanosOf(usd: string): bigint {
  return parseUsd(usd) ?? assert.fail(usd);
}

function sum(rows: readonly RowJson[], field: 'prompt_tokens' | 'completion_tokens'): number {
  return rows.reduce((total, row) => total + row[field], 0);
}

test('kill -9 of run, without a config, leaves a journal in the folder of the user, and a key that ends by its budget and its time', async (t) => {
  const place = new Workplace(t, null);
  place.environment.XDG_STATE_HOME = join(place.directory, 'state');
  const { stderr } = await place.runAlone([
    'run',
    '--max-usd',
    '2',
    '--for',
    '2h',
    '--name',
    'killed',
    '--',
    'sh',
    '-c',
    'kill -9 $PPID',
  ]);
  assert.match(stderr, /no provider's key is set, so only the built-in mock answers/);
  const folder = join(place.directory, 'state', 'inf-gw', 'run');
  assert.match(stderr, new RegExp(`^created the state file ${folder}/inf-gw.db$`, 'm'));
  // A state file in the current folder needs no config.
  place.write('config.yaml', `state: ${folder}/inf-gw.db\nproviders: {}\n`);
  const left = await place.json<KeyJson>('keys', 'show', 'killed');
  assert.deepEqual(
    left.budgets.map(({ period, limit_usd: limit }) => `${period} ${limit}`),
    ['total 2.00'],
  );
  assert.equal(Date.parse(left.expires_at ?? '') - Date.parse(left.created_at) <= 7_200_000, true);
  // The next one is not kept from its state, but from the name.
  const again = await place.run(['keys', 'create', 'killed']);
  assert.match(again.stderr, /a key named "killed" already exists/);
});

describe('a command ends as in a shell', () => {
  const folder = mkdtempSync(join(tmpdir(), 'inf-gw-run-'));
  const file = join(folder, 'text');
  writeFileSync(file, 'text');
  chmodSync(file, 0o600);
  const none = { attach: () => () => {} };
  for (const [words, status] of [
    [['sh', '-c', 'exit 0'], 0],
    [['sh', '-c', 'exit 3'], 3],
    [['sh', '-c', 'kill -TERM $$'], 143],
    [['sh', '-c', 'kill -KILL $$'], 137],
    [['no-such-command-here'], 127],
    [[join(folder, 'nothing')], 127],
    [[file], 126],
    [[folder], 126],
  ] as const) {
    test(`${words.join(' ').replace(folder, '…')}: ${status}`, async () => {
      assert.equal((await runCommand(words, PATHS, none)).status, status);
    });
  }
  test('and nothing is left', () => rmSync(folder, { recursive: true }));
});

test('a second run on a state file says how to run several', async (t) => {
  const place = new Workplace(t);
  const lock = lockState(place.statePath);
  const { status, stderr } = await place.run(['run', '--max-usd', '1', '--', 'true']);
  lock.release();
  assert.equal(status, 1);
  assert.match(stderr, /^error: another `inf-gw run` serves .*; to run several at once, start `inf-gw serve` first$/m);
});

/** Says which signals it gets, and dies of none of them. */
const LISTENER = `
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH', 'SIGCONT'])
    process.on(signal, () => console.log(signal));
  setInterval(() => {}, 1000);
  console.log(process.pid);
`;

/**
 * A shell without a terminal, which would send some signals to both. It has job control: without it nothing can stop.
 * Its last wait gives the status at the end: one before may have seen the stop, and the end came before it was told.
 */
const SHELL = 'set -m; "$@" & echo $!; while kill -0 $! 2>&-; do wait $!; done; wait $!';

test('a command gets the signals of run, stops and goes on with it, and 128 + n says which one ended it', async (t) => {
  const words = ['-c', SHELL, 'shell', process.execPath, fileHere('command.ts'), process.execPath, '-e', LISTENER];
  const shell = spawn('bash', words, { detached: true, env: PATHS, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => shell.kill('SIGKILL'));
  const lines = createInterface({ input: shell.stdout })[Symbol.asyncIterator]();
  const line = async () => (await bounded(lines.next(), 'a line of the command')).value as string;
  const run = Number(await line());
  const pid = Number(await line());
  for (const each of [run, pid]) t.after(() => isAlive(each) && process.kill(each, 'SIGKILL'));
  for (const signal of [
    'SIGTERM',
    'SIGHUP',
    'SIGINT',
    'SIGQUIT',
    'SIGUSR1',
    'SIGUSR2',
    'SIGWINCH',
    'SIGCONT',
  ] as const) {
    process.kill(run, signal);
    assert.equal(await line(), signal);
  }
  if (process.platform === 'linux') {
    process.kill(run, 'SIGTSTP');
    await until(() => isStopped(pid) && isStopped(run));
    process.kill(run, 'SIGCONT');
    assert.equal(await line(), 'SIGCONT');
  }
  const ended = once(shell, 'exit');
  process.kill(pid, 'SIGABRT');
  assert.deepEqual(await bounded(ended, 'the end of run'), [134, null]);
});

function isStopped(pid: number): boolean {
  return / T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
