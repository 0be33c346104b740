/**
 * Attacks with what changes a price, where the config has a price for it: each is charged at its
 * own.
 */
import { chunkFrame, FRAMED } from '../../support/fake-bedrock.ts';
import type { UpstreamCall } from '../../support/fake-upstream.ts';
import type { Attack, Family } from '../attack.ts';
import type { Wish } from '../conversation.ts';
import { arrivals, billedOverCharged, billedOverHeld, OVER_CHARGED, OVER_HELD } from '../measures.ts';
import type { Fields } from '../names.ts';
import { LONG_INPUT_TOKENS } from '../pricing.ts';
import {
  billedOverScriptedBalance,
  billedOverScriptedCharge,
  OVER_SCRIPTED_BALANCE,
  OVER_SCRIPTED_CHARGE,
  type ScriptedAttack,
} from '../scripted.ts';
import { asks } from '../site.ts';

type Row = readonly [claim: string, tries: string, fields: Fields, wish: Partial<Wish>];

const TOKENS = 2_000;
const input = (words: number) => ({ messages: [{ role: 'user', content: 'one '.repeat(words) }] });
const short = input(LONG_INPUT_TOKENS - 200);

const ROWS: readonly Row[] = [
  ['a service tier is charged at its price', '`service_tier: "priority"`', { service_tier: 'priority' }, {}],
  [
    'a service tier is charged at its price in a stream',
    '`service_tier: "priority"` on a stream',
    { service_tier: 'priority', stream: true },
    { piecesAtOnce: 20 },
  ],
  [
    'tokens written to a cache are charged',
    'input that the host writes to its cache',
    short,
    { special: { cacheWrite: 1_500 } },
  ],
  ['audio tokens of input are charged', 'input of audio tokens', short, { special: { audioInput: 1_500 } }],
  [
    'a long input is charged at the price for long inputs',
    'input beyond the length at which the price doubles',
    { model: 'exact/long', ...input(LONG_INPUT_TOKENS + 500) },
    {},
  ],
  ['audio tokens of output are charged', 'output of audio tokens', {}, { special: { audioOutput: 1_500 } }],
];

const charged: Attack[] = ROWS.map(([claim, tries, fields, wish]) => ({
  claim,
  passes: 'balance',
  tries,
  ...OVER_CHARGED,
  run: async (workshop) =>
    billedOverCharged(await workshop.site('priced'), {
      body: asks('exact', fields),
      wish: { tokens: TOKENS, ...wish },
    }),
}));

const held: Attack = {
  claim: 'a service tier is held for at its price',
  passes: 'balance',
  tries: '`service_tier: "priority"` with a maximum',
  ...OVER_HELD,
  run: async (workshop) =>
    billedOverHeld(await workshop.site('priced'), {
      body: asks('exact', { service_tier: 'priority', max_tokens: TOKENS }),
      wish: { tokens: TOKENS },
    }),
};

const refused: Attack[] = ['models', 'route', 'fallbacks'].map((field) => ({
  claim: `the field ${field} reaches no host that reads it`,
  passes: 'allowlist',
  tries: `\`${field}\`, which lets a request choose another model, at a provider with \`refuse_fields\``,
  unit: 'requests that reached the host',
  most: 0,
  run: async (workshop) =>
    arrivals(await workshop.site('priced'), { body: asks('exact', { [field]: ['vendor-dear'] }) }),
}));

const TIER_HEADER = 'x-amzn-bedrock-service-tier';
const BEDROCK_TOKENS = { input: 10, output: 1_000 };
/** Nanodollars a token, for each USD a million tokens. */
const NANOS_PER_PRICE = 1_000;
const CLAUDE = {
  upstream: 'eu.anthropic.claude-sonnet-5-v1:0',
  cache_write: 1.25,
  cache_write_1h: 2,
  max_output: 1_000,
};
const PRIORITY = { input: 4, output: 8, cache_write: 5, cache_write_1h: 8 };

/** Claude reports the tiers of Anthropic, and Bedrock reports its own in the head. */
function answerOfClaude(call: UpstreamCall, served: string | undefined): void {
  const usage = { input_tokens: BEDROCK_TOKENS.input, output_tokens: BEDROCK_TOKENS.output, service_tier: 'standard' };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: [], usage };
  const tier: Record<string, string> = served === undefined ? {} : { [TIER_HEADER]: served };
  if (call.path.endsWith('/invoke')) return call.answer(200, { ...message, stop_reason: 'end_turn' }, tier);
  call.head(200, { ...FRAMED, ...tier, 'transfer-encoding': 'chunked' });
  const start = { type: 'message_start', message: { ...message, usage: { ...usage, output_tokens: 1 } } };
  const delta = {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn' },
    usage: { output_tokens: usage.output_tokens },
  };
  for (const event of [start, delta, { type: 'message_stop' }]) call.send(chunkFrame(event));
  call.end();
}

interface BedrockRow {
  readonly what: string;
  readonly tries: string;
  readonly fields: Fields;
  /** In the head of the answer. */
  readonly served: string | undefined;
  /** Of the provider. */
  readonly headers?: Readonly<Record<string, string>>;
}

const OF_PROVIDER = { [TIER_HEADER]: 'priority' };

const BEDROCK_ROWS: readonly BedrockRow[] = [
  ...[false, true].map((stream) => ({
    what: `a tier at Bedrock that the head of ${stream ? 'a stream' : 'an answer'} reports`,
    tries: `\`service_tier: "priority"\` at Bedrock${stream ? ' on a stream' : ''}, where Claude reports another tier than the head`,
    fields: { service_tier: 'priority', stream },
    served: 'priority',
  })),
  {
    what: 'a tier at Bedrock that no head reports',
    tries: '`service_tier: "priority"` at Bedrock, where Claude reports another tier, and the head none',
    fields: { service_tier: 'priority' },
    served: undefined,
  },
  {
    what: 'a tier at Bedrock that the request does not ask for',
    tries: 'a request that Bedrock serves in another tier than it asks for',
    fields: {},
    served: 'priority',
  },
  ...[undefined, 'priority'].map((served) => ({
    what: `a tier at Bedrock that the provider's headers set, and the head of the answer ${served ? 'reports' : 'does not'},`,
    tries: `a request without a tier at a Bedrock provider with \`headers: { ${TIER_HEADER}: priority }\`, which the head of the answer ${served ? 'reports' : 'does not report'}`,
    fields: {},
    served,
    headers: OF_PROVIDER,
  })),
];

function bedrockAttack({ fields, served, headers = {} }: Omit<BedrockRow, 'what' | 'tries'>): ScriptedAttack {
  return {
    path: '/v1/messages',
    send: async () => ({
      body: JSON.stringify({
        model: 'bedrock/model',
        max_tokens: BEDROCK_TOKENS.output,
        messages: [{ role: 'user', content: 'Hi' }],
        ...fields,
      }),
    }),
    providers: {
      bedrock: {
        kind: 'bedrock',
        region: 'eu-west-1',
        api_key: 'upstream-key',
        headers,
        models: { model: { input: 1, output: 2, ...CLAUDE, service_tiers: { priority: PRIORITY } } },
      },
    },
    script: (call) => answerOfClaude(call, served),
    bill: (BEDROCK_TOKENS.input * PRIORITY.input + BEDROCK_TOKENS.output * PRIORITY.output) * NANOS_PER_PRICE,
  };
}

const atBedrock = BEDROCK_ROWS.map(
  ({ what, tries, ...row }): Attack => ({
    claim: `${what} is charged at its price`,
    passes: 'balance',
    tries,
    ...OVER_SCRIPTED_CHARGE,
    run: () => billedOverScriptedCharge(bedrockAttack(row)),
  }),
);

const RACE = { usd: 0.02, requests: 10 };
const racingAtBedrock: Attack[] = ['auto', undefined].map((tier) => ({
  claim: `racing requests with ${tier ? `the tier ${tier}` : 'no tier'} do not pass a balance where the headers of a Bedrock provider set the tier`,
  passes: 'balance',
  tries: `${RACE.requests} racing requests with ${tier ? `\`service_tier: "${tier}"\`` : 'no tier'} at a Bedrock provider with \`headers: { ${TIER_HEADER}: priority }\`, with a balance of ${RACE.usd} USD`,
  ...OVER_SCRIPTED_BALANCE,
  run: () => {
    const attack = bedrockAttack({ fields: { service_tier: tier }, served: 'priority', headers: OF_PROVIDER });
    return billedOverScriptedBalance(attack, RACE.usd, RACE.requests);
  },
}));

export const SPECIAL_PRICES_FAMILY: Family = {
  title: 'What has a price of its own',
  about: 'Service tiers, cache writes and audio have prices of their own in the config, and are charged at them.',
  attacks: [...charged, held, ...atBedrock, ...racingAtBedrock, ...refused],
};
