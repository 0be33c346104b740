/**
 * Google's official client against a real gateway: answers, streams, thinking, functions, schemas, counts, embeddings and
 * typed errors, with hosts of its own dialect and through the translations to chat and messages.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError, type GenerateContentResponse, GoogleGenAI } from '@google/genai';
import type { TestKey } from '../support/gateway.ts';
import {
  assertCharged,
  collected,
  HOSTS,
  REFUSED_KEYS,
  type ReadUsage,
  rejection,
  startDialectHosts,
} from './dialect-hosts.ts';

const { gateway, root } = await startDialectHosts();

const modelsFor = ({ secret }: TestKey) =>
  new GoogleGenAI({ apiKey: secret, vertexai: false, httpOptions: { baseUrl: root } }).models;

function usageOf({ usageMetadata: usage = {} }: GenerateContentResponse): ReadUsage {
  const output = (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0);
  return { input: usage.promptTokenCount ?? 0, cached: usage.cachedContentTokenCount ?? 0, written: 0, output };
}

const partsOf = ({ candidates }: GenerateContentResponse) => candidates?.[0]?.content?.parts ?? [];
const READ = {
  name: 'read',
  parametersJsonSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};
const TOOLS = [{ functionDeclarations: [READ] }];
const THINKING = { thinkingConfig: { includeThoughts: true, thinkingBudget: 1_024 }, maxOutputTokens: 2_000 };

for (const host of HOSTS.gemini) {
  const model = `${host}/echo`;

  describe(`with a host of ${host} the client`, () => {
    test('reads an answer, which is charged as its usage says', async () => {
      const key = gateway.key();
      const answer = await modelsFor(key).generateContent({
        model,
        contents: '/words 3 /cache 4',
        config: { systemInstruction: 'Be brief.', maxOutputTokens: 100, temperature: 0.5, stopSequences: ['END'] },
      });
      assert.equal(answer.text, 'word word word');
      assert.equal(answer.candidates?.[0]?.finishReason, 'STOP');
      const usage = usageOf(answer);
      assert.deepEqual([usage.cached, usage.output], [4, 3]);
      assertCharged(gateway, key, usage);
    });

    test('reads a stream piece by piece', async () => {
      const key = gateway.key();
      const contents = '/words 3 /cache 4';
      const pieces = await collected(await modelsFor(key).generateContentStream({ model, contents }));
      const texts = pieces
        .map((piece) =>
          partsOf(piece)
            .map(({ text = '' }) => text)
            .join(''),
        )
        .filter((text) => text);
      assert.deepEqual(texts, ['word', ' word', ' word']);
      const last = pieces.at(-1) as GenerateContentResponse;
      assert.equal(last.candidates?.[0]?.finishReason, 'STOP');
      assertCharged(gateway, key, usageOf(last));
    });

    test('is told that an answer was cut at its maximum', async () => {
      const asked = { model, contents: '/words 9', config: { maxOutputTokens: 3 } };
      const answer = await modelsFor(gateway.key()).generateContent(asked);
      assert.deepEqual([answer.text, answer.candidates?.[0]?.finishReason], ['word word word', 'MAX_TOKENS']);
    });

    test('reads thinking before the text', async () => {
      const key = gateway.key();
      const asked = { model, contents: '/think 3 /words 2', config: THINKING };
      const answer = await modelsFor(key).generateContent(asked);
      const [thinking, text] = partsOf(answer);
      assert.deepEqual([thinking?.thought, thinking?.text, text?.text], [true, 'thought thought thought', 'word word']);
      assert.equal(answer.usageMetadata?.thoughtsTokenCount, 3);
      assertCharged(gateway, key, usageOf(answer));
    });

    for (const isStream of [false, true]) {
      test(`calls functions in turns until the text${isStream ? ' of a stream' : ''}`, async () => {
        const key = gateway.key();
        const chat = new GoogleGenAI({
          apiKey: key.secret,
          vertexai: false,
          httpOptions: { baseUrl: root },
        }).chats.create({ model, config: { ...THINKING, tools: TOOLS } });
        const usages: ReadUsage[] = [];
        const send = async (message: Parameters<typeof chat.sendMessage>[0]['message']) => {
          const pieces = isStream
            ? await collected(await chat.sendMessageStream({ message }))
            : [await chat.sendMessage({ message })];
          usages.push(usageOf(pieces.at(-1) as GenerateContentResponse));
          return pieces.flatMap(partsOf);
        };
        const called = await send('/think 2 /call read {"path": "a b.txt"} /words 2');
        const { functionCall: call } = called.find(({ functionCall }) => functionCall !== undefined) ?? {};
        assert.deepEqual([call?.name, call?.args], ['read', { path: 'a b.txt' }]);
        const functionResponse = { id: call?.id ?? '', name: 'read', response: { output: 'the content' } };
        const said = await send([{ functionResponse }]);
        assert.equal(said.flatMap(({ text = '', thought }) => (thought ? [] : [text])).join(''), 'word word');
        assertCharged(gateway, key, ...usages);
      });
    }

    test('gets JSON of a schema', async () => {
      const schema = { type: 'object', properties: { size: { type: 'integer' } }, required: ['size'] };
      const config = { responseMimeType: 'application/json', responseJsonSchema: schema };
      const { text = '' } = await modelsFor(gateway.key()).generateContent({ model, contents: 'How large?', config });
      assert.deepEqual(Object.keys(JSON.parse(text)), ['size']);
    });

    test('counts tokens, which costs nothing', async () => {
      const key = gateway.key();
      const { totalTokens = 0 } = await modelsFor(key).countTokens({ model, contents: 'The quick brown fox.' });
      assert.ok(totalTokens >= 5 && totalTokens < 20, String(totalTokens));
      assert.equal(gateway.rows(key).length, 0);
    });

    test('throws what its host fails with, and nothing is charged', async () => {
      const key = gateway.key();
      const asked = { model, contents: '/error 503' };
      const error = await rejection(modelsFor(key).generateContent(asked), ApiError);
      assert.equal(error.status, 502);
      assert.ok(gateway.rows(key).every(({ cost_nanos }) => cost_nanos === 0));
    });
  });
}

test('the client gets the embeddings of a host of OpenAI', async () => {
  const key = gateway.key();
  const { embeddings = [] } = await modelsFor(key).embedContent({ model: 'all/echo', contents: ['a', 'b'] });
  assert.deepEqual(
    embeddings.map(({ values = [] }) => values.length > 0),
    [true, true],
  );
  assert.equal((await gateway.row(key)).source, 'reported');
});

test('the client lists the models that its key may call', async () => {
  const names = (await collected(await modelsFor(gateway.key()).list())).map(({ name }) => name);
  for (const host of HOSTS.gemini) assert.ok(names.includes(`models/${host}/echo`), names.join());
});

for (const [code, keyFor] of Object.entries(REFUSED_KEYS)) {
  test(`the client throws an error that says ${code}`, async () => {
    const asked = { model: 'gemini/echo', contents: 'Hi' };
    const error = await rejection(modelsFor(keyFor(gateway)).generateContent(asked), ApiError);
    assert.ok(error.message.includes(`"code":"${code}"`), error.message);
  });
}
