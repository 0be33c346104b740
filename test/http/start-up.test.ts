/**
 * What clients ask when they start, before anybody has said anything: each gets an answer that lets it work, costs nothing and
 * reaches no host.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startTestGateway } from '../support/gateway.ts';

const PRICES = { input: 1, cached_input: 0.25, output: 2 };
const gateway = await startTestGateway({
  provider: {
    dialects: ['chat', 'messages', 'responses', 'gemini', 'images'],
    models: {
      known: { ...PRICES, context_window: 200_000, max_output: 8_000, reads: ['image', 'pdf'] },
      bare: PRICES,
      painter: { per: { image: 0.04 } },
    },
  },
});
after(() => gateway.stop());

type Listed = Readonly<Record<string, unknown>>;
const KNOWN_PRICES = { input_usd: '1.00', cached_input_usd: '0.25', cache_write_usd: '1.00', output_usd: '2.00' };
const byId = (list: readonly Listed[], id: string) => list.find((each) => each.id === id || each.name === id);

const ofMessages = (listing: Listed) => {
  const data = listing.data as readonly Listed[];
  assert.deepEqual([listing.has_more, listing.first_id, listing.last_id], [false, data[0]?.id, data.at(-1)?.id]);
  const known = byId(data, 'fake/known') ?? {};
  const { max_input_tokens, max_tokens, lifecycle, capabilities, input_modalities, prices } = known;
  assert.deepEqual([max_input_tokens, max_tokens, lifecycle, capabilities], [200_000, 8_000, 'active', null]);
  assert.deepEqual([input_modalities, prices], [['text', 'image', 'pdf'], KNOWN_PRICES]);
  const bare = byId(data, 'fake/bare');
  assert.deepEqual([bare?.max_input_tokens, bare?.max_tokens, bare?.input_modalities], [null, null, undefined]);
};
const ofOpenAI = (listing: Listed) => {
  const data = listing.data as readonly Listed[];
  assert.equal(listing.object, 'list');
  const { object, context_window, max_output, input_modalities, prices } = byId(data, 'fake/known') ?? {};
  assert.deepEqual([object, context_window, max_output], ['model', 200_000, 8_000]);
  assert.deepEqual(input_modalities, ['text', 'image', 'pdf']);
  assert.deepEqual(prices, KNOWN_PRICES);
  assert.deepEqual(byId(data, 'fake/painter')?.prices, { per_image_usd: '0.04' });
  assert.equal(byId(data, 'fake/bare')?.context_window, undefined);
};
const ofGoogle = (listing: Listed) => {
  const known = byId(listing.models as readonly Listed[], 'models/fake/known');
  assert.deepEqual([known?.inputTokenLimit, known?.outputTokenLimit], [200_000, 8_000]);
  assert.deepEqual([known?.input_modalities, known?.prices], [['text', 'image', 'pdf'], KNOWN_PRICES]);
};

interface Call {
  readonly client: string;
  readonly asks: string;
  /** With the key; else nothing names one. */
  readonly headers?: (secret: string) => Record<string, string>;
  readonly body?: object;
  readonly status: number;
  readonly holds?: (answer: Listed) => void;
}

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
const anthropic = (secret: string) => ({ ...bearer(secret), 'anthropic-version': '2023-06-01' });
const google = (secret: string) => ({ 'x-goog-api-key': secret });
const messages = [{ role: 'user', content: 'count' }];

/** As these clients were seen to ask, or document it, in 2026-11. */
const CALLS: readonly Call[] = [
  { client: 'Claude Code, whether anybody is there', asks: 'HEAD /', status: 404 },
  {
    client: 'Claude Code, for its list of models',
    asks: 'GET /v1/models?limit=1000',
    headers: anthropic,
    status: 200,
    holds: ofMessages,
  },
  {
    client: 'Claude Code, how long its own tools are',
    asks: 'POST /v1/messages/count_tokens?beta=true',
    headers: anthropic,
    body: { model: 'fake/known', messages },
    status: 200,
    holds: ({ input_tokens: tokens }) => assert.ok(Number(tokens) > 0),
  },
  {
    client: 'Claude Code, what an account may do, which it does without',
    asks: 'GET /api/claude_cli/bootstrap',
    headers: anthropic,
    status: 404,
  },
  {
    client: 'Codex, for a list of its own form, without which it goes on',
    asks: 'GET /v1/models?client_version=0.155.1',
    headers: bearer,
    status: 200,
    holds: ofOpenAI,
  },
  {
    client: 'Codex, for a socket that it does not need',
    asks: 'GET /v1/responses',
    headers: (secret) => ({ ...bearer(secret), 'openai-beta': 'responses_websockets=2026-02-06' }),
    status: 405,
  },
  {
    client: 'goose, Cline, Open WebUI, LibreChat, for the models',
    asks: 'GET /v1/models',
    headers: bearer,
    status: 200,
    holds: ofOpenAI,
  },
  {
    client: 'clients that look up one model',
    asks: 'GET /v1/models/fake/known',
    headers: bearer,
    status: 200,
    holds: (model) => ofOpenAI({ object: 'list', data: [model, ...OTHERS] }),
  },
  {
    client: 'Gemini CLI, for the models',
    asks: 'GET /v1beta/models?pageSize=1000',
    headers: google,
    status: 200,
    holds: ofGoogle,
  },
  {
    client: 'Gemini CLI, how long a prompt is',
    asks: 'POST /v1beta/models/fake/known:countTokens',
    headers: google,
    body: { contents: [{ role: 'user', parts: [{ text: 'count' }] }] },
    status: 200,
    holds: ({ totalTokens: tokens }) => assert.ok(Number(tokens) > 0),
  },
];
const OTHERS = [{ id: 'fake/painter', prices: { per_image_usd: '0.04' } }, { id: 'fake/bare' }];

describe('at its start an answer that lets it work gets', () => {
  for (const { client, asks, headers, body, status, holds } of CALLS) {
    test(`${client}: ${asks} → ${status}`, async () => {
      const key = gateway.key();
      const [method = '', path = ''] = asks.split(' ');
      // A host that cannot count leaves it to the gateway.
      gateway.upstream.follow((call) => call.answer(404, {}));
      const reply = await gateway.request(path, {
        method,
        headers: headers?.(key.secret) ?? {},
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      assert.equal(reply.status, status, reply.text);
      holds?.(JSON.parse(reply.text));
      assert.deepEqual(gateway.rows(key), []);
    });
  }
});
