/** Attacks with responses that a host keeps: those of other keys, and what a name of a few bytes brings in. */
import { KeepingHost } from '../../hostile-dialects/keeping-host.ts';
import { type GatewayOptions, startTestGateway, type TestGateway, type TestKey } from '../../support/gateway.ts';
import type { KeySettings } from '../../support/state.ts';
import type { Attack, Family } from '../attack.ts';

const PRICES = { input: 1, output: 2, max_output: 1_000, default_output: 10 };
const PROVIDER = { responses_state: 'per_key', models: { echo: PRICES, other: { ...PRICES, context_window: 30_000 } } };
const LONG = { input: 'word '.repeat(20_000) };
const RACE = 30;
const NANOS_PER_USD = 1_000_000_000;
/** What the long conversation costs when it comes in once. */
const TURN_NANOS = 20_050 * 1_000 + 50 * 2_000;

interface Made {
  readonly id: string;
  readonly items: readonly string[];
}

class Stage {
  readonly host = new KeepingHost();
  readonly gateway: TestGateway;

  constructor(gateway: TestGateway) {
    this.gateway = gateway;
    gateway.upstream.follow(this.host.follow);
  }

  send(key: TestKey, fields: object) {
    return this.gateway.post('/v1/responses', key, {
      model: 'fake/echo',
      input: 'And?',
      max_output_tokens: 50,
      ...fields,
    });
  }

  async make(key: TestKey, fields: object = {}): Promise<Made> {
    const { id, output } = JSON.parse((await this.send(key, fields)).text);
    return { id, items: output.map((item: { id: string }) => item.id) };
  }

  /** What the host has billed, in nanodollars. */
  get billedNanos(): number {
    return this.host.bills.reduce((sum, { input, output }) => sum + input * 1_000 + output * 2_000, 0);
  }
}

async function onStage(options: GatewayOptions, work: (stage: Stage) => Promise<number>): Promise<number> {
  const gateway = await startTestGateway({ provider: PROVIDER, ...options });
  try {
    return await work(new Stage(gateway));
  } finally {
    await gateway.stop();
  }
}

const named = (id: string | undefined) => ({ type: 'item_reference', id });
const said = { role: 'user', content: 'And?' };

/** Ways to name what another key has made. */
const WAYS: readonly (readonly [how: string, fields: (made: Made) => object])[] = [
  ['`previous_response_id`', ({ id }) => ({ previous_response_id: id })],
  ['`previous_response_id` with `store: false`', ({ id }) => ({ previous_response_id: id, store: false })],
  ['an item as a response', ({ items }) => ({ previous_response_id: items[0] })],
  ['a response as an item', ({ id }) => ({ input: [named(id), said] })],
  ['`item_reference`', ({ items }) => ({ input: [named(items[0]), said] })],
  ['an item without a type', ({ items }) => ({ input: [{ id: items[1] }, said] })],
  ['the type in another case', ({ items }) => ({ input: [{ type: 'Item_Reference', id: items[1] }, said] })],
  [
    '`reasoning` without its text',
    ({ items }) => ({ input: [{ type: 'reasoning', id: items[0], summary: [] }, said] }),
  ],
  [
    'a call of a tool without what it found',
    ({ items }) => ({ input: [{ type: 'web_search_call', id: items[0] }, said] }),
  ],
  ['`Previous_Response_Id`', ({ id }) => ({ Previous_Response_Id: id })],
  ['`Id` in an item', ({ items }) => ({ input: [{ type: 'item_reference', Id: items[0] }, said] })],
  ['`conversation`', ({ id }) => ({ conversation: id })],
  [
    '`prompt_cache_options.comparison_response_id`',
    ({ id }) => ({ prompt_cache_options: { comparison_response_id: id } }),
  ],
];

const foreign: Attack = {
  claim: 'what a host keeps for one key is named by no other',
  passes: 'other keys',
  tries: `the ids of another key, and of one that was deleted: ${WAYS.map(([how]) => how).join(', ')}; \`GET\` and \`DELETE\` of them`,
  unit: 'requests that reached the host',
  most: 0,
  run: () =>
    onStage({}, async (stage) => {
      const { gateway } = stage;
      const [owner, gone, thief] = [gateway.key(), gateway.key(), gateway.key()];
      const prey = [await stage.make(owner), await stage.make(gone)];
      gateway.setState(gone, 'deleted');
      await stage.make(thief);
      gateway.upstream.follow(stage.host.follow);
      for (const made of prey) {
        await Promise.all(WAYS.map(([, fields]) => stage.send(thief, fields(made))));
        for (const method of ['GET', 'DELETE'])
          await gateway.request(`/v1/responses/${made.id}`, { key: thief, method });
      }
      return gateway.upstream.calls.length;
    }),
};

const words: Attack = {
  claim: 'a foreign id reads like one that nobody has',
  passes: 'other keys',
  tries: 'to tell by words, status or headers whether an id is that of another key',
  unit: 'ways in which the answers differ',
  most: 0,
  run: () =>
    onStage({}, async (stage) => {
      const [owner, thief] = [stage.gateway.key(), stage.gateway.key()];
      const made = await stage.make(owner);
      const guessed = (id: string) => id.replace(/_.*/, `_${'0'.repeat(48)}`);
      const guess = { id: guessed(made.id), items: made.items.map(guessed) };
      let differing = 0;
      for (const [, fields] of WAYS) {
        const [found, none] = await Promise.all([stage.send(thief, fields(made)), stage.send(thief, fields(guess))]);
        const ids = [made.id, ...made.items, guess.id, ...guess.items];
        const plain = (text: string) => ids.reduce((rest, id) => rest.replaceAll(id, '…'), text);
        const names = (headers: Headers) => [...headers.keys()].join();
        if (found.status !== none.status || plain(found.text) !== plain(none.text)) differing++;
        if (names(found.headers) !== names(none.headers)) differing++;
      }
      return differing;
    }),
};

/** Ways to bring in a long conversation. */
const BRINGING: readonly (readonly [how: string, fields: (made: Made) => object])[] = [
  ['by its id', ({ id }) => ({ previous_response_id: id })],
  ['by its id, at another model', ({ id }) => ({ previous_response_id: id, model: 'fake/other' })],
];

function raceOf(settings: KeySettings, options: GatewayOptions, fields: (made: Made) => object) {
  return onStage(options, async (stage) => {
    const key = stage.gateway.key(settings);
    const made = await stage.make(key, LONG);
    await Promise.all(Array.from({ length: RACE }, () => stage.send(key, fields(made))));
    return stage.billedNanos;
  });
}

const CREDIT_USD = 0.1;
const LIMIT_NANOS = 70_000_000;
const WINDOW_TOKENS = 70_000;

const races = BRINGING.flatMap(([how, fields]): readonly Attack[] => [
  {
    claim: `a long conversation that is named ${how} passes no balance`,
    passes: 'balance',
    tries: `${RACE} racing requests of a few bytes, each of which brings in 20,000 tokens ${how}`,
    unit: 'times the balance',
    most: 1,
    run: async () => (await raceOf({}, { credit: String(CREDIT_USD) }, fields)) / (CREDIT_USD * NANOS_PER_USD),
  },
  {
    claim: `a long conversation that is named ${how} passes a spend limit by less than one request`,
    passes: 'spend limit',
    tries: 'the same, with a spend limit',
    unit: 'times the spend limit',
    most: Number((1 + TURN_NANOS / LIMIT_NANOS).toFixed(3)),
    run: async () => (await raceOf({ spendLimitNanos: BigInt(LIMIT_NANOS) }, {}, fields)) / LIMIT_NANOS,
  },
  {
    claim: `a long conversation that is named ${how} passes no token window`,
    passes: 'token window',
    tries: 'the same, with a limit of tokens',
    unit: 'times the tokens of the window',
    most: 1,
    run: () =>
      onStage({}, async (stage) => {
        const key = stage.gateway.key({ tpm: WINDOW_TOKENS });
        const made = await stage.make(key, LONG);
        await Promise.all(Array.from({ length: RACE }, () => stage.send(key, fields(made))));
        return stage.host.bills.reduce((sum, { input, output }) => sum + input + output, 0) / WINDOW_TOKENS;
      }),
  },
]);

const repeated: Attack = {
  claim: 'an item that is named again and again is held for each time',
  passes: 'balance',
  tries: 'one item of 1,000 tokens, named 300 times in one request, with a balance for a third of that',
  unit: 'times the balance',
  most: 1,
  run: () =>
    onStage({ credit: String(CREDIT_USD) }, async (stage) => {
      const key = stage.gateway.key();
      stage.host.outputTokens = 1_000;
      const { items } = await stage.make(key, { max_output_tokens: 1_000 });
      await stage.send(key, { input: Array.from({ length: 300 }, () => named(items[0])) });
      return stage.billedNanos / (CREDIT_USD * NANOS_PER_USD);
    }),
};

export const KEPT: Family = {
  title: 'Responses that a host keeps',
  about:
    'With `responses_state: per_key` a name of a few bytes brings in a whole conversation, and the host gives it to whoever has the key of the operator.',
  attacks: [foreign, words, ...races, repeated],
};
