/**
 * Attacks with what changes a price: where the config has no price for it, the request is refused.
 */
import { startTestGateway } from '../../support/gateway.ts';
import type { Attack, Family } from '../attack.ts';
import { billedOverCharged, billedOverHeld, OVER_CHARGED, OVER_HELD } from '../measures.ts';
import { LONG_INPUT_TOKENS } from '../pricing.ts';
import { asks } from '../site.ts';
import { bounded, CHAT, MESSAGES } from './dialect-requests.ts';

const unpriced = [false, true].map(
  (stream): Attack => ({
    claim: `a service tier without a price is not served at the standard one${stream ? ', in a stream either' : ''}`,
    passes: 'balance',
    tries: `\`service_tier: "priority"\`${stream ? ' on a stream' : ''}, where the config has no price for it`,
    ...OVER_CHARGED,
    run: async (workshop) =>
      billedOverCharged(await workshop.site('plain'), {
        body: asks('exact', { service_tier: 'priority', stream }),
        wish: { tokens: 1_500 },
      }),
  }),
);

const LONG = { messages: [{ role: 'user', content: 'one '.repeat(LONG_INPUT_TOKENS + 500) }] };

/** At hosts, a service tier multiplies the price that an input has by its length. */
const tiered = [CHAT, MESSAGES].flatMap((direction) =>
  ['priority', 'flex'].flatMap((tier): readonly Attack[] => {
    const request = bounded(direction, 1_000, { service_tier: tier, ...LONG }, 'tiered', {
      conduct: { tokens: 1_000 },
    });
    const tries = `a long input with \`service_tier: "${tier}"\`, in ${direction.client}, where the config has prices for either`;
    return [
      {
        claim: `a long input at the tier ${tier}, in ${direction.client}, is held at the price of both`,
        passes: 'balance',
        tries,
        ...OVER_HELD,
        run: async (workshop) => billedOverHeld(await workshop.dialects(), request),
      },
      {
        claim: `a long input at the tier ${tier}, in ${direction.client}, is charged at the price of both`,
        passes: 'balance',
        tries,
        ...OVER_CHARGED,
        run: async (workshop) => billedOverCharged(await workshop.dialects(), request),
      },
    ];
  }),
);

const BETA = 'anthropic-beta';
const HOST = {
  kind: 'anthropic',
  models: { echo: { input: 1, output: 1, cache_write: 1, cache_write_1h: 1, max_output: 100 } },
};

/** How often requests reach a host that may bill them by more than their tokens. Each is sent alone. */
async function reaching(
  provider: Readonly<Record<string, unknown>>,
  requests: readonly { readonly path?: string; readonly headers?: Record<string, string>; readonly fields?: object }[],
): Promise<number> {
  const gateway = await startTestGateway({ provider: { ...HOST, ...provider } });
  try {
    gateway.upstream.follow((call) => call.answer(400, { error: { message: 'no' } }));
    const fields = { model: 'fake/echo', max_tokens: 1, messages: [{ role: 'user', content: 'Hello' }] };
    for (const { path = '/v1/messages', headers = {}, fields: more } of requests) {
      const body = JSON.stringify({ ...fields, ...more });
      await gateway.request(path, { method: 'POST', key: gateway.key(), body, headers });
    }
    return gateway.upstream.calls.length;
  } finally {
    await gateway.stop();
  }
}

const BETAS = [
  {
    provider: { refuse_headers: [`${BETA}: fast-mode-*`] },
    value: 'fast-mode-2030-01-01',
    whose: 'whose provider refuses it',
    at: 'a provider with `refuse_headers`',
  },
  {
    provider: {},
    value: 'context-1m-2025-08-07',
    whose: 'whose model has no price for it',
    at: 'a model without `above`',
  },
];

const headers = BETAS.map(
  ({ value, whose, at, provider }): Attack => ({
    claim: `a header that changes a price reaches no host ${whose}`,
    passes: 'balance',
    tries: `\`${BETA}: ${value}\`, at ${at}`,
    unit: 'requests that reached the host',
    most: 0,
    run: () => reaching(provider, [{ headers: { [BETA]: value } }]),
  }),
);

/** Hosts of Claude at other vendors read betas in the body. */
const inBodies = BETAS.flatMap(({ value, whose, at, provider }): Attack[] => {
  const forms = [[value], value, ['a', value], `a, ${value.toUpperCase()}`, [[value]]];
  const named = forms.map((betas) => ({ fields: { anthropic_beta: betas } }));
  const spelled = [{ fields: { Anthropic_Beta: [value] } }];
  const counted = [{ path: '/v1/messages/count_tokens', fields: { anthropic_beta: [value] } }];
  const inChat = named.map((each) => ({ path: '/v1/chat/completions', ...each }));
  return [
    {
      claim: `a beta in a body of messages reaches no host ${whose}`,
      passes: 'balance',
      tries: `\`anthropic_beta: ["${value}"]\` in messages, in several forms, at ${at}`,
      unit: 'requests that reached the host',
      most: 0,
      run: () => reaching(provider, [...named, ...spelled, ...counted]),
    },
    {
      claim: `a beta in a body of chat reaches no host ${whose}`,
      passes: 'balance',
      tries: `\`anthropic_beta: ["${value}"]\` in chat, in several forms, at ${at}`,
      unit: 'requests that reached the host',
      most: 0,
      run: () =>
        reaching({ kind: 'openai', ...provider }, [...inChat, { path: '/v1/chat/completions', ...spelled[0] }]),
    },
    {
      claim: `a beta in a body reaches no host of Bedrock ${whose}`,
      passes: 'balance',
      tries: `\`anthropic_beta: ["${value}"]\` at Bedrock, in several forms, at ${at}`,
      unit: 'requests that reached the host',
      most: 0,
      run: () => {
        const models = { echo: { ...HOST.models.echo, upstream: 'eu.anthropic.claude-sonnet-5-v1:0' } };
        const bedrock = { kind: 'bedrock', region: 'eu-west-1', headers: {}, models };
        return reaching({ ...bedrock, ...provider }, [...named, ...spelled]);
      },
    },
  ];
});

export const PRICES: Family = {
  title: 'Prices with conditions',
  about: 'Some fields make a request more expensive at the host. What has no price in the config is refused.',
  attacks: [...unpriced, ...tiered, ...headers, ...inBodies],
};
