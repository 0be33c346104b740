/** Attacks with tools that Google runs: no field of a request bounds their calls, or the pages that they read. */
import type { UpstreamCall } from '../../support/fake-upstream.ts';
import type { Attack, Family } from '../attack.ts';
import {
  billedOverScriptedBalance,
  billedOverScriptedCharge,
  type Fields,
  OVER_SCRIPTED_BALANCE,
  OVER_SCRIPTED_CHARGE,
  type ScriptedAttack,
} from '../scripted.ts';

const MODEL = { input: 0.3, cached_input: 0.03, output: 2.5, context_window: 1_048_576, max_output: 65_536 };
const INPUT_NANOS = 300;
const GEMINI = { kind: 'gemini' };
const VERTEX = { kind: 'vertex', project: 'p', region: 'us-central1' };

const SEARCHES = 40;
const SEARCH_USD = 0.014;
const SEARCH_BILL = SEARCHES * SEARCH_USD * 1e9;
const PAGES = 20;
const TOKENS_PER_PAGE = 40_000;
const PAGES_BILL = PAGES * TOKENS_PER_PAGE * INPUT_NANOS;

const BALANCE_USD = 1;
const MORE_USD = 5;
const RACING = 40;

/** What the host does with its tools in an answer, and the input that they bring in. */
interface Used {
  readonly metadata: Fields;
  readonly tokens: number;
}

const names = (count: number, name: string) => Array.from({ length: count }, (_, index) => `${name} ${index}`);
const searched = (count: number): Used => ({
  metadata: { groundingMetadata: { webSearchQueries: names(count, 'one') } },
  tokens: 0,
});
const read: Used = {
  metadata: { urlContextMetadata: { urlMetadata: names(PAGES, 'page').map((retrievedUrl) => ({ retrievedUrl })) } },
  tokens: PAGES * TOKENS_PER_PAGE,
};

function answer(call: UpstreamCall, { metadata, tokens }: Used): void {
  const parts = [{ text: 'Hi' }];
  const content = {
    candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP', ...metadata }],
    usageMetadata: { promptTokenCount: 2, toolUsePromptTokenCount: tokens, candidatesTokenCount: 1 },
  };
  call.answer(200, content);
}

/** The compatible endpoint reports no calls. */
function answerInChat(call: UpstreamCall, { tokens }: Used): void {
  call.answer(200, {
    choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 2 + tokens, completion_tokens: 1, total_tokens: 3 + tokens },
  });
}

interface Row {
  readonly tries: string;
  readonly provider: Fields;
  readonly tools: Fields;
  readonly path: string;
  readonly body: Fields;
  readonly used: Used;
  readonly bill: number;
}

const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }], generationConfig: { maxOutputTokens: 10 } };
const MESSAGES = { model: 'google/model', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 10 };
const GENERATE = '/v1beta/models/google/model:generateContent';
const searching = { used: searched(SEARCHES), bill: SEARCH_BILL, tools: { google_search: SEARCH_USD } };
const reading = { used: read, bill: PAGES_BILL, tools: { url_context: 0 } };
const chatReading = { google: { tools: [{ google_search: {} }, { url_context: {} }] } };

const ROWS: readonly Row[] = [
  {
    tries: `\`url_context\` with ${PAGES} pages of ${TOKENS_PER_PAGE.toLocaleString('en')} tokens`,
    provider: GEMINI,
    path: GENERATE,
    body: { ...CONTENTS, tools: [{ urlContext: {} }] },
    ...reading,
  },
  {
    tries: 'the same pages at Vertex AI',
    provider: VERTEX,
    path: GENERATE,
    body: { ...CONTENTS, tools: [{ url_context: {} }] },
    ...reading,
  },
  {
    tries: 'the same pages in chat, by `google.tools`',
    provider: {},
    path: '/v1/chat/completions',
    body: { ...MESSAGES, ...chatReading },
    ...reading,
    tools: { google_search: SEARCH_USD, url_context: 0 },
  },
  {
    tries: 'the same pages in chat, by `extra_body`',
    provider: {},
    path: '/v1/chat/completions',
    body: { ...MESSAGES, extra_body: chatReading },
    ...reading,
    tools: { google_search: SEARCH_USD, url_context: 0 },
  },
  {
    tries: `${SEARCHES} searches by \`google_search\``,
    provider: GEMINI,
    path: GENERATE,
    body: { ...CONTENTS, tools: [{ googleSearch: {} }] },
    ...searching,
  },
  {
    tries: 'as many searches of places by `google_maps`',
    provider: GEMINI,
    path: GENERATE,
    body: { ...CONTENTS, tools: [{ googleMaps: {} }] },
    ...searching,
    tools: { google_maps: SEARCH_USD },
  },
];

const MORE_SEARCHES = 100;
const BOUNDED: Row = {
  tries: `${MORE_SEARCHES} searches where the price has \`max_calls: ${MORE_SEARCHES}\``,
  provider: GEMINI,
  path: GENERATE,
  body: { ...CONTENTS, tools: [{ googleSearch: {} }] },
  used: searched(MORE_SEARCHES),
  bill: MORE_SEARCHES * SEARCH_USD * 1e9,
  tools: { google_search: { call: SEARCH_USD, max_calls: MORE_SEARCHES } },
};

function scripted({ provider, tools, path, body, used, bill }: Row): ScriptedAttack {
  const isChat = provider.kind === undefined;
  return {
    path,
    send: async () => ({ body: JSON.stringify(body) }),
    providers: { google: { api_key: 'upstream-key', ...provider, models: { model: { ...MODEL, tools } } } },
    script: (call) => (isChat ? answerInChat(call, used) : answer(call, used)),
    bill,
  };
}

const races = ROWS.map(
  (row): Attack => ({
    claim: `racing requests with ${row.tries}, do not pass a balance`,
    passes: 'balance',
    tries: `${RACING} racing requests with ${row.tries}, with a balance of ${BALANCE_USD} USD`,
    ...OVER_SCRIPTED_BALANCE,
    run: () => billedOverScriptedBalance(scripted(row), BALANCE_USD, RACING),
  }),
);

const bounded: Attack = {
  claim: `racing requests with ${BOUNDED.tries}, do not pass a balance`,
  passes: 'balance',
  tries: `${RACING} racing requests with ${BOUNDED.tries}, with a balance of ${MORE_USD} USD`,
  ...OVER_SCRIPTED_BALANCE,
  run: () => billedOverScriptedBalance(scripted(BOUNDED), MORE_USD, RACING),
};

/** A host of chat that bills each search, and reports none. */
const unreported: ScriptedAttack = {
  path: '/v1/chat/completions',
  send: async () => ({ body: JSON.stringify({ ...MESSAGES, enable_search: true }) }),
  providers: {
    google: {
      models: { model: { ...MODEL, tools: { web_search: { call: SEARCH_USD, tokens: 0, max_calls: SEARCHES } } } },
    },
  },
  script: (call) => answerInChat(call, { metadata: {}, tokens: 0 }),
  bill: SEARCH_BILL,
};

const charged: Attack = {
  claim: 'searches in chat that are not reported are charged up to `max_calls` of their price',
  passes: 'balance',
  tries: `${SEARCHES} searches by \`enable_search\` in chat that are not reported, where the price has \`max_calls\``,
  ...OVER_SCRIPTED_CHARGE,
  run: () => billedOverScriptedCharge(unreported),
};

export const GOOGLE_TOOLS: Family = {
  title: 'Tools that Google runs',
  about:
    'A request has no field for a maximum of calls, and a page may have any length. Google reads up to 20 pages in a request, and bills each search.',
  attacks: [...races, bounded, charged],
};
