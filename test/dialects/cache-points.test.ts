/** The cost of a long conversation of a chat client on a host of messages, which bills its prefix cache as Anthropic does. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { isObject } from '../../src/core/json.ts';
import type { Fields } from '../../src/dialects/dialect.ts';
import type { Script } from '../support/fake-upstream.ts';
import { startTestGateway } from '../support/gateway.ts';

const TURNS = 40;
/** As in a session of a coding agent: some 5,000 tokens of tools and system prompt, and 600 a turn. */
const SYSTEM = 'You change files as you are asked. '.repeat(500);
const TOOLS = ['read', 'write', 'run'].map((name) => ({
  type: 'function',
  function: { name, description: 'Works on files. '.repeat(60), parameters: { type: 'object', properties: {} } },
}));
const PRICES = { input: 3, cached_input: 0.3, cache_write: 3.75, cache_write_1h: 6, output: 15, max_output: 1_000 };

const gateway = await startTestGateway({
  provider: { kind: 'anthropic', models: { marked: PRICES, plain: { ...PRICES, cache_points: 'off' } } },
});
after(() => gateway.stop());

/** A host that keeps the prefixes which a request marks, and bills what it reads there and what it writes. */
function cachingHost(): Script {
  const kept = new Set<string>();
  return (call) => {
    const { tools = [], system = [], messages } = JSON.parse(call.body);
    const turns = messages.flatMap(({ role, content }: Fields) =>
      Array.isArray(content) ? content.map((block) => ({ role, ...(block as Fields) })) : [{ role, content }],
    );
    const prefix = createHash('sha256');
    let tokens = 0;
    let read = 0;
    let marked = 0;
    for (const block of [...tools, ...(Array.isArray(system) ? system : [system]), ...turns]) {
      const { cache_control: mark, ...content } = (isObject(block) ? block : { text: block }) as Fields;
      const text = JSON.stringify(content);
      prefix.update(text);
      tokens += Math.ceil(text.length / 4);
      const hash = prefix.copy().digest('hex');
      if (kept.has(hash)) read = tokens;
      if (mark === undefined) continue;
      marked = tokens;
      kept.add(hash);
    }
    const usage = {
      input_tokens: tokens - Math.max(read, marked),
      cache_read_input_tokens: read,
      cache_creation_input_tokens: Math.max(0, marked - read),
      output_tokens: 100,
    };
    call.answer(200, { content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn', usage });
  };
}

/** In nanodollars. */
async function costOfSession(model: string): Promise<number> {
  const key = gateway.key();
  gateway.upstream.follow(cachingHost());
  const messages: Fields[] = [{ role: 'system', content: SYSTEM }];
  for (let turn = 0; turn < TURNS; turn++) {
    messages.push({ role: 'user', content: `Change file ${turn}. `.repeat(120) });
    const reply = await gateway.complete(key, JSON.stringify({ model: `fake/${model}`, messages, tools: TOOLS }));
    assert.equal(reply.status, 200, reply.text);
    messages.push({ role: 'assistant', content: 'Done.' });
  }
  return gateway.rows(key).reduce((sum, { cost_nanos: cost }) => sum + cost, 0);
}

test('cache points make a session of 40 turns cost a fifth', async (t) => {
  const [plain, marked] = [await costOfSession('plain'), await costOfSession('marked')];
  t.diagnostic(`${(plain / 1e9).toFixed(3)} USD without cache points, ${(marked / 1e9).toFixed(3)} with them`);
  assert.ok(marked < plain / 5, `${marked} of ${plain}`);
});
