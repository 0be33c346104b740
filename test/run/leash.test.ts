/** What a host bills for commands on a leash, as real processes: however many requests race, and whatever they declare. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Explanation } from '../../src/core/explanation.ts';
import { completion } from '../support/answers.ts';
import { CONCURRENCY, CONFIG, linesOf, type Result, Workplace } from '../support/cli.ts';
import { FakeUpstream, type Script } from '../support/fake-upstream.ts';

const RACER = fileURLToPath(new URL('racer.ts', import.meta.url));

/** In nanodollars per token, of input and output. */
const PRICE = 10_000n;
const INPUT_TOKENS = 10;
/** What a model of the config is held for, and what it writes if nobody keeps it from that. */
const DEFAULT_OUTPUT = 512;
const MOST_OUTPUT = 16_384;
/** What a request without a maximum costs at most on a leash. */
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
async function greedyPlace(t: TestContext): Promise<{ readonly place: Workplace; readonly host: GreedyHost }> {
  const upstream = await FakeUpstream.start();
  t.after(() => upstream.close());
  const host = new GreedyHost();
  upstream.follow(host.script);
  const address = `http://127.0.0.1:${upstream.port}/v1`;
  const provider = `  host: { kind: openai, base_url: '${address}', models: { paid: { input: 10, output: 10 } } }\n`;
  const place = new Workplace(t, `${CONFIG}${provider}`);
  await place.run(['credit', 'add', '100']);
  return { place, host };
}

interface ReceiptJson {
  readonly key: { readonly id: string };
  readonly leash: string | null;
  readonly cost_usd: string;
}

function receiptOf({ status, stderr }: Result): ReceiptJson {
  assert.equal(status, 0, stderr);
  return JSON.parse(linesOf(stderr).at(-1) ?? '') as ReceiptJson;
}

const leash = (usd: string, ...command: readonly string[]) => ['run', '--max-usd', usd, '--json', '--', ...command];
const race = (...words: readonly string[]) => [process.execPath, RACER, ...words];

describe('racing requests without maxima', { concurrency: CONCURRENCY }, () => {
  for (const where of ['beside a running gateway', 'with a gateway of its own']) {
    test(`cost a leash of 0.05 USD less than one request more, ${where}`, async (t) => {
      const { place, host } = await greedyPlace(t);
      if (where === 'beside a running gateway') await place.serve();
      const receipt = receiptOf(await place.runAlone(leash('0.05', ...race(`${RACERS}`))));
      assert.ok(
        host.billedNanos >= 50_000_000n - ONE_REQUEST,
        `billed too little to say anything: ${host.billedNanos}`,
      );
      assert.ok(host.billedNanos < 50_000_000n + ONE_REQUEST, `billed ${host.billedNanos}`);
      assert.equal(Number(receipt.cost_usd), Number(host.billedNanos) / 1e9);
    });
  }
});

test('a leash caps output in the field that the host reads, and no key that run has not made is capped', async (t) => {
  const { place, host } = await greedyPlace(t);
  const serving = await place.serve();
  const { key } = receiptOf(await place.runAlone(leash('1', ...race('1'))));
  for (const fields of [{ max_tokens: 7 }, { max_completion_tokens: 8 }, { max_tokens: 7, max_completion_tokens: 9 }]) {
    receiptOf(await place.runAlone(leash('1', ...race('1', JSON.stringify(fields)))));
  }
  const other = await place.createKey('other', '--budget', 'total=1', '--expires', '1h');
  const messages = [{ role: 'user', content: 'Go on.' }];
  await serving.chat(other.key, { model: 'host/paid', messages });
  assert.deepEqual(host.maxima, [
    { max_tokens: DEFAULT_OUTPUT },
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
