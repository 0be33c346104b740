/** Attacks with what has a price of its own: tools of the host, service tiers, several iterations. */
import type { Fields } from '../../hostile/names.ts';
import { charges, holds, isRefused } from '../measures.ts';
import { ALL, type Direction, MAXIMA, NATIVE, TRANSLATED, user } from '../requests.ts';

const messages: Direction = { client: 'messages', host: 'messages' };
const responses: Direction = { client: 'responses', host: 'responses' };

const UNPRICED: readonly (readonly [direction: Direction, type: string])[] = [
  ...['web_search_20250305', 'web_search_20260209', 'web_search', 'code_execution_20250825', 'advisor_20260301'].map(
    (type) => [messages, type] as const,
  ),
  ...['web_fetch_20250910', 'mcp_toolset', 'image_generation', 'unheard_of_20990101'].map(
    (type) => [messages, type] as const,
  ),
  ...['web_search', 'web_search_preview', 'web_search_2025_08_26', 'web_search_preview_2025_03_11'].map(
    (type) => [responses, type] as const,
  ),
  ...['file_search', 'code_interpreter', 'image_generation', 'x_search', 'code_execution', 'shell', 'mcp'].map(
    (type) => [responses, type] as const,
  ),
];
const free = { type: 'custom', name: 'f', input_schema: { type: 'object' } };

const unpriced = UNPRICED.map(([direction, type]) =>
  isRefused({
    direction,
    what: `${type} without a price reaches no host`,
    fields: { tools: [free, { type, name: 'x' }] },
  }),
);

const search = { type: 'web_search_20250305', name: 'web_search' };
const atGo = (direction: Direction): Direction => ({ ...direction, reading: 'go' });
const developer = { type: 'additional_tools', role: 'developer' };
const hello = { role: 'user', content: 'Hello' };

/** Where a tool of the host can hide, and what else brings in tools or what others pay for. */
const HIDDEN: readonly (readonly [what: string, direction: Direction, fields: Fields])[] = [
  ['a second Type of a tool', atGo(messages), { tools: [{ ...free, Type: search.type }] }],
  ['a second Type of a tool', atGo(responses), { tools: [{ type: 'function', name: 'f', Type: 'web_search' }] }],
  ['a search that the input adds', responses, { input: [{ ...developer, tools: [{ type: 'web_search' }] }, hello] }],
  [
    'a search in a namespace',
    responses,
    { tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'web_search' }] }] },
  ],
  ['Max_Tool_Calls', atGo(responses), { max_tool_calls: 1, Max_Tool_Calls: 200 }],
  ['a server of tools', messages, { mcp_servers: [{ type: 'url', url: 'https://example.org', name: 'a' }] }],
  ['a faster answer', messages, { speed: 'fast' }],
  ['a region', messages, { inference_geo: 'us' }],
  ['an item without a type or a role', responses, { input: [{ type: null, id: 'msg_1' }, hello] }],
];

const hidden = HIDDEN.map(([what, direction, fields]) =>
  isRefused({ direction, what: `${what} reaches no host`, fields }),
);

/** More than any request here may have. */
const SEARCHES = 300;
const newer = { ...search, type: 'web_search_20260209' };

const WAYS: readonly (readonly [what: string, direction: Direction, fields: Fields])[] = [
  ['up to their maximum', messages, { tools: [{ ...search, max_uses: 3 }] }],
  ['up to a large maximum', messages, { tools: [{ ...search, max_uses: 200 }] }],
  ['without a maximum', messages, { tools: [search] }],
  ['with a maximum of null', messages, { tools: [{ ...search, max_uses: null }] }],
  [
    'by two tools',
    messages,
    {
      tools: [
        { ...search, max_uses: 3 },
        { ...newer, max_uses: 5 },
      ],
    },
  ],
  ['with two maxima', atGo(messages), { tools: [{ ...search, max_uses: 1, Max_Uses: 200 }] }],
  ['that the input adds', responses, { input: [{ ...developer, tools: [{ type: 'web_search' }] }, hello] }],
  ['up to max_tool_calls', responses, { tools: [{ type: 'web_search' }], max_tool_calls: 3 }],
  ['without a maximum', responses, { tools: [{ type: 'web_search_preview' }] }],
];

const searched = WAYS.flatMap(([what, direction, fields]) =>
  [false, true].map((stream) =>
    holds({
      direction,
      what: `searches ${what} are held and charged${stream ? ', streamed' : ''}`,
      fields: { stream, [MAXIMA[direction.client]]: 50, ...fields },
      model: 'tooled',
      conduct: { tokens: 50, calls: SEARCHES },
    }),
  ),
);

const searching = ({ client }: Direction): Fields => ({
  tools: [client === 'messages' ? search : { type: 'web_search' }],
});

const left = NATIVE.map((direction) =>
  charges({
    direction,
    what: 'searches of a stream that is left are paid for',
    fields: { stream: true, [MAXIMA[direction.client]]: 500, ...searching(direction) },
    model: 'tooled',
    conduct: { tokens: 500, calls: 10 },
    leaves: 'first piece',
  }),
);

/** What is searched is known from the answer, whatever its usage says. */
const unreported = NATIVE.flatMap((direction) =>
  [false, true].flatMap((stream) =>
    (['never', { impossible: -1 }] as const).map((report) =>
      charges({
        direction,
        what: `searches beside a report of ${JSON.stringify(report)} are charged${stream ? ', streamed' : ''}`,
        fields: { stream, [MAXIMA[direction.client]]: 50, ...searching(direction) },
        model: 'tooled',
        conduct: { tokens: 50, calls: 3, report },
      }),
    ),
  ),
);

const leftOut = TRANSLATED.filter(({ client }) => client !== 'chat').map((direction) =>
  holds({
    direction,
    what: "a search that only the client's own host could make costs nothing",
    fields: { [MAXIMA[direction.client]]: 50, ...searching(direction) },
    conduct: { tokens: 50, calls: SEARCHES },
  }),
);

const ODD_TIERS = ['Priority', 'PRIORITY', 'scale', 'fast', ' priority', 'priority\u0000'];
const TIERS = ['priority', 'flex'];

const tiers = ALL.flatMap((direction) => [
  ...[...TIERS, ...(NATIVE.includes(direction) ? ODD_TIERS : [])].map((tier) =>
    isRefused({
      direction,
      what: `the service tier ${JSON.stringify(tier)} without a price reaches no host`,
      fields: { service_tier: tier },
    }),
  ),
  ...TIERS.map((tier) =>
    holds({
      direction,
      what: `the service tier ${tier} is held and charged at its price`,
      fields: { service_tier: tier, [MAXIMA[direction.client]]: 1_000 },
      model: 'tooled',
      conduct: { tokens: 1_000 },
    }),
  ),
]);

const together = holds({
  direction: messages,
  what: 'a service tier, a cache of an hour and searches together are held and charged',
  fields: {
    ...user('messages', [{ type: 'text', text: 'one '.repeat(500), cache_control: { type: 'ephemeral', ttl: '1h' } }]),
    service_tier: 'priority',
    max_tokens: 500,
    tools: [{ ...search, max_uses: 7 }],
  },
  model: 'tooled',
  conduct: { tokens: 500, calls: 7 },
});

const iterations = ALL.filter(({ host }) => host === 'messages').flatMap((direction) =>
  [false, true].map((stream) =>
    charges({
      direction,
      what: `iterations are charged in sum${stream ? ', streamed' : ''}`,
      fields: { stream },
      conduct: { pass: { input: 30_000, output: 3_000 } },
    }),
  ),
);

export const PRICES = {
  title: 'What has a price of its own, in other dialects',
  attacks: [...unpriced, ...hidden, ...searched, ...left, ...unreported, ...leftOut, ...tiers, together, ...iterations],
};
