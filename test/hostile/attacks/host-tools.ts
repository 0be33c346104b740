/** Attacks with tools that the host runs: what they cost, what they bring in, and how requests switch them on. */
import type { Conduct } from '../../hostile-dialects/dialogue.ts';
import { SWITCH_PLACES } from '../../hostile-dialects/places/switches.ts';
import { VARIANT_PLACES } from '../../hostile-dialects/places/tools.ts';
import type { ModelName } from '../../hostile-dialects/pricing.ts';
import { type Direction, MAXIMA, type Request } from '../../hostile-dialects/requests.ts';
import type { DialectSite } from '../../hostile-dialects/site.ts';
import type { Attack, Family } from '../attack.ts';
import {
  billedOverBalance,
  billedOverCharged,
  billedOverHeld,
  billedOverTokenLimit,
  OVER_CHARGED,
  OVER_HELD,
  overLimit,
} from '../measures.ts';
import type { Fields } from '../names.ts';
import { billedNanos, COUNT_ERROR } from '../site.ts';
import { NANOS_PER_USD } from '../truthful-site.ts';
import { bounded, CHAT, MESSAGES, RACING, RESPONSES, racing } from './dialect-requests.ts';

const FOUND = 30_000;
const FOUND_TOKENS = `${FOUND.toLocaleString('en')} tokens`;
const CALLS = 5;
const BALANCE_NANOS = NANOS_PER_USD;
const WINDOW = 50_000;

const search = { type: 'web_search_20250305', name: 'web_search' };
const fetch = { type: 'web_fetch_20250910', name: 'web_fetch', citations: { enabled: false } };
const tools = (...declared: readonly Fields[]): Fields => ({ tools: declared });

function calling(
  direction: Direction,
  fields: Fields,
  conduct: Partial<Conduct>,
  leaves: Request['leaves'] = 'never',
): Request {
  return bounded(direction, 50, fields, 'tooled', { conduct: { tokens: 50, ...conduct }, leaves });
}

/** How tools that bring in what they find are declared. */
const FINDING: readonly (readonly [what: string, direction: Direction, fields: Fields])[] = [
  [`${CALLS} searches by \`max_uses\``, MESSAGES, tools({ ...search, max_uses: CALLS })],
  ['searches without `max_uses`', MESSAGES, tools(search)],
  [`${CALLS} pages by \`max_uses\``, MESSAGES, tools({ ...fetch, max_uses: CALLS })],
  [`${CALLS} searches by \`max_tool_calls\``, RESPONSES, { ...tools({ type: 'web_search' }), max_tool_calls: CALLS }],
  ['searches without `max_tool_calls`', RESPONSES, tools({ type: 'web_search' })],
  [`${CALLS} searches in files`, RESPONSES, { ...tools({ type: 'file_search' }), max_tool_calls: CALLS }],
];

const found = FINDING.flatMap(([what, direction, fields]) => {
  const request = calling(direction, fields, { calls: 10, found: FOUND });
  const tries = `${what} in ${direction.client}, each of which brings in ${FOUND_TOKENS}`;
  return [
    {
      claim: `what ${what} in ${direction.client} bring in is held for`,
      passes: 'balance',
      tries,
      ...OVER_HELD,
      run: async (workshop) => billedOverHeld(await workshop.dialects(), request),
    },
    {
      claim: `what ${what} in ${direction.client} bring in counts as tokens`,
      tries: `${tries}, with a token limit of ${WINDOW.toLocaleString('en')}`,
      ...overLimit('token window', WINDOW),
      run: async (workshop) => billedOverTokenLimit(await workshop.dialects(), WINDOW, [request]),
    },
  ] satisfies Attack[];
});

const races = [MESSAGES, RESPONSES].map((direction): Attack => {
  const declared = direction === MESSAGES ? tools({ ...search, max_uses: CALLS }) : tools({ type: 'web_search' });
  const request = calling(direction, declared, { calls: 10, found: FOUND });
  return {
    claim: `racing searches in ${direction.client} do not pass a balance`,
    tries: `${RACING} racing requests that search in ${direction.client}, each time bringing in ${FOUND_TOKENS}, with a balance of 1 USD`,
    ...overLimit('balance', BALANCE_NANOS),
    run: async (workshop) =>
      billedOverBalance(await workshop.dialects(), BALANCE_NANOS, racing(request, workshop.isLong)),
  };
});

const leftSearching = [MESSAGES, RESPONSES].map((direction): Attack => {
  const declared = direction === MESSAGES ? search : { type: 'web_search' };
  const request = calling(
    direction,
    { stream: true, ...tools(declared), [MAXIMA[direction.client]]: 1_000 },
    { tokens: 1_000, calls: 3, found: FOUND },
    'middle',
  );
  return {
    claim: `what searches bring into a stream of ${direction.client} is paid for by who leaves`,
    passes: 'balance',
    tries: `leaves a stream of ${direction.client} in the middle, after three searches that brought in ${FOUND_TOKENS} each`,
    ...OVER_CHARGED,
    run: async (workshop) => billedOverCharged(await workshop.dialects(), request),
  };
});

const container = tools({ type: 'code_interpreter', container: { type: 'auto' } });

const variants = VARIANT_PLACES.flatMap(([what, fields]) => {
  const request = calling(RESPONSES, { ...fields, max_tool_calls: 1 }, { calls: 1 });
  return [
    {
      claim: `${what} is held at its own price or refused`,
      passes: 'balance',
      tries: `has the host make ${what}`,
      ...OVER_HELD,
      run: async (workshop) => billedOverHeld(await workshop.dialects(), request),
    },
    {
      claim: `${what} is charged at its own price or refused`,
      passes: 'balance',
      tries: `has the host make ${what}`,
      ...OVER_CHARGED,
      run: async (workshop) => billedOverCharged(await workshop.dialects(), request),
    },
  ] satisfies Attack[];
});

async function chargedOverBilled(site: DialectSite, request: Request): Promise<number> {
  const key = site.key();
  const outcome = await site.send(key, request);
  await site.settled([key], [outcome]);
  return site.charged(key) / billedNanos([outcome]);
}

/** What hosts show as calls and do not bill. */
const UNBILLED: readonly (readonly [what: string, fields: Fields, conduct: Partial<Conduct>])[] = [
  ['pages that a search opens', tools({ type: 'web_search' }), { calls: 1, opened: 5 }],
  ['further calls in one container', container, { calls: 5 }],
];

const unbilled = UNBILLED.flatMap(([what, fields, conduct]): Attack[] => [
  {
    claim: `${what} are not charged as calls`,
    passes: 'balance',
    tries: `(a host that bills nothing for ${what})`,
    unit: 'times what was billed',
    most: COUNT_ERROR,
    run: async (workshop) => chargedOverBilled(await workshop.dialects(), calling(RESPONSES, fields, conduct)),
  },
  {
    claim: `what ${what} bring in is charged without a report`,
    passes: 'balance',
    tries: `has ${what} bring in ${FOUND_TOKENS} each, at a host that reports no usage`,
    ...OVER_CHARGED,
    run: async (workshop) =>
      billedOverCharged(
        await workshop.dialects(),
        calling(RESPONSES, fields, { ...conduct, found: FOUND, report: 'never' }),
      ),
  },
]);

const switched = (model: ModelName, fields: Fields) =>
  bounded(CHAT, 50, fields, model, { conduct: { tokens: 50, calls: CALLS, found: FOUND } });
const SWITCHED_NANOS = BALANCE_NANOS / 10;

function switchAttack(what: string, request: Request): Attack {
  return {
    claim: `${what}, in chat, is held for or refused`,
    tries: `${RACING} racing requests with ${what}, with a balance of 0.10 USD`,
    ...overLimit('balance', SWITCHED_NANOS),
    run: async (workshop) =>
      billedOverBalance(await workshop.dialects(), SWITCHED_NANOS, racing(request, workshop.isLong)),
  };
}

const switches = [
  ...SWITCH_PLACES.map(([what, fields]) => switchAttack(what, switched('cheap', fields))),
  switchAttack('`web_search_options` where a search has a price', switched('tooled', { web_search_options: {} })),
  switchAttack('a model that calls tools of its own accord', switched('compound', {})),
];

export const HOST_TOOLS: Family = {
  title: 'Tools that the host runs',
  about: `Hosts run tools of their own: they bill each call by its kind, and what it finds as input. In these attacks a call brings in ${FOUND_TOKENS}.`,
  attacks: [...found, ...races, ...leftSearching, ...variants, ...unbilled, ...switches],
};
