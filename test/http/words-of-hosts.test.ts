/**
 * A host that tells clients what it knows of the operator: the path of its address, its key, its
 * account, wherever an answer has room for words.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answering, chunk, completion, DONE, event, streaming, usageChunk } from '../support/answers.ts';
import type { Script } from '../support/fake-upstream.ts';
import { chat, sharedGateway, UPSTREAM_HEADER, UPSTREAM_KEY } from '../support/gateway.ts';

const TOKEN = 'r7-Qm4zP';
const ACCOUNT = '88213';
const PATH = `/relay/${TOKEN}/accounts/${ACCOUNT}/v1`;
const QUERY = 'Zx81kLm90';
const gateway = await sharedGateway({ basePath: `${PATH}?sig=${QUERY}` });

const HOST = `127.0.0.1:${gateway.upstream.port}`;
const SECRETS = [UPSTREAM_KEY, UPSTREAM_HEADER, HOST, TOKEN, ACCOUNT, QUERY];
const ABOUT_ACCOUNT = 'Your account has been suspended for unpaid invoices';

/** Sentences with something of the operator's in them. */
const TELLING: readonly string[] = [
  `Cannot POST ${PATH}/chat/completions`,
  `no route for /${TOKEN.toUpperCase()}/`,
  `unknown workspace ${ACCOUNT}`,
  `http%3A%2F%2Fx%2Frelay%2F${TOKEN}%2F`,
  `signature ${QUERY} is stale`,
  `"${ABOUT_ACCOUNT}"`,
  `The host said: '${ABOUT_ACCOUNT}.'`,
  `\`${ABOUT_ACCOUNT}\``,
  'upstream: {"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}',
  "It failed with 'insufficient_quota'",
  `Wrong key '${UPSTREAM_KEY}'`,
];

function assertTellsNothing(text: string): void {
  const found = SECRETS.filter((secret) => text.toLowerCase().includes(secret.toLowerCase()));
  assert.deepEqual(found, [], text);
  assert.doesNotMatch(text, /suspended|quota/, text);
}

const saying = (message: string, more = {}) => ({ error: { message, type: 'x', code: null, ...more } });

/** Every place in an answer where a host can put a sentence. */
const PLACES: readonly (readonly [place: string, stream: boolean, script: (words: string) => Script])[] = [
  ['a 400', false, (words) => answering(saying(words), 400)],
  ['a 429', false, (words) => answering(saying(words), 429)],
  ['a 500', false, (words) => answering(saying(words), 500)],
  ['an error with status 200', false, (words) => answering(saying(words))],
  ['an error beside no choices', false, (words) => answering({ ...saying(words), choices: [] })],
  ['an error beside choices', false, (words) => answering(completion('hi', saying(words)))],
  [
    'a detail of an error beside choices',
    false,
    (words) => answering(completion('hi', saying('Partial.', { metadata: { raw: words } }))),
  ],
  [
    'an error within a choice',
    false,
    (words) => answering({ choices: [{ index: 0, message: { content: 'hi' }, ...saying(words) }] }),
  ],
  ['a first event', true, (words) => streaming(event(saying(words)), DONE)],
  ['an error event', true, (words) => streaming(chunk('a'), event(saying(words)), DONE)],
  ['an error beside the choices of a chunk', true, (words) => streaming(chunk('a', null, saying(words)), DONE)],
  [
    'an error within a choice of a chunk',
    true,
    (words) => streaming(chunk('a'), event({ choices: [{ index: 0, delta: {}, ...saying(words) }] }), DONE),
  ],
];

describe('what a host says about the operator does not reach a client', () => {
  for (const [place, stream, script] of PLACES) {
    test(`in ${place}`, async () => {
      for (const words of TELLING) {
        gateway.upstream.follow(script(words));
        const answer = await gateway.complete(gateway.key(), chat({ stream }));
        assertTellsNothing(answer.text);
      }
    });
  }
});

/** Members that are not of the format, and comments: only the host can have written those. */
const ELSEWHERE: readonly (readonly [place: string, stream: boolean, script: (secret: string) => Script])[] = [
  ['a member of a completion', false, (secret) => answering(completion('hi', { debug: { url: [`x ${secret} y`] } }))],
  ['a name in a completion', false, (secret) => answering(completion('hi', { debug: { [secret]: 1 } }))],
  ['a name of a member', false, (secret) => answering(completion('hi', { [secret]: 1 }))],
  ['a member of a chunk', true, (secret) => streaming(chunk('a', null, { debug: secret }), chunk('b', 'stop'), DONE)],
  ['a comment', true, (secret) => streaming(chunk('a'), `: from ${secret}\n\n`, chunk('b', 'stop'), DONE)],
  ['a comment at the start', true, (secret) => streaming(`: from ${secret}\n\n`, chunk('b', 'stop'), DONE)],
];

describe('secrets are removed from a 200, which is otherwise what the host sent:', () => {
  for (const [place, stream, script] of ELSEWHERE) {
    test(place, async () => {
      for (const secret of SECRETS) {
        gateway.upstream.follow(script(secret));
        const answer = await gateway.complete(gateway.key(), chat({ stream }));
        assert.equal(answer.status, 200);
        assertTellsNothing(answer.text);
        assert.match(answer.text, stream ? /"content":"b"/ : /"content":"hi"/);
        if (!stream) assert.ok(JSON.parse(answer.text).usage.prompt_tokens > 0);
      }
    });
  }

  test('the key in what a model has written', async () => {
    const words = `The header was: Bearer ${UPSTREAM_KEY}, I think.`;
    gateway.upstream.follow(answering(completion(words)));
    const { text } = await gateway.complete(gateway.key());
    assert.equal(JSON.parse(text).choices[0].message.content, 'The header was: Bearer [withheld], I think.');
    gateway.upstream.follow(streaming(chunk(words), chunk('b', 'stop'), DONE));
    const streamed = await gateway.complete(gateway.key(), chat({ stream: true }));
    assert.equal(streamed.text, chunk(words.replace(UPSTREAM_KEY, '[withheld]')) + chunk('b', 'stop') + DONE);
  });

  test('the key in an event that is too long to be parsed ends the stream', async () => {
    const long = 'x'.repeat(1_100_000);
    gateway.upstream.follow(streaming(chunk('a'), chunk(`${long} ${UPSTREAM_KEY} ${long}`), chunk('b', 'stop'), DONE));
    const { text } = await gateway.complete(gateway.key(), chat({ stream: true }));
    assertTellsNothing(text);
    assert.match(text, /upstream_error.*\n\ndata: \[DONE\]\n\n$/);
  });
});

/** Spellings that a parser does not keep. */
const ODD = '"logprob": -1.50e-3, "big": 12345678901234567890, "text": "\\u0041\\/"';

describe('an answer without anything of the operator passes byte by byte:', () => {
  const clean: readonly (readonly [what: string, fields: Record<string, unknown>])[] = [
    ['with members of the host', { provider: 'x', citations: ['https://example.com/relay/v1'], timings: { ms: 1.5 } }],
    ['with an error beside choices', { error: { message: 'The last tool call was cut off.', code: 'truncated' } }],
    ['with an empty error', { error: {} }],
    ['that names the host', { id: HOST }],
  ];
  for (const [what, fields] of clean) {
    test(what, async () => {
      const text = JSON.stringify(completion(`see http://${HOST}${PATH}`, fields)).replace('{', `{ ${ODD},`);
      gateway.upstream.follow(answering(text));
      assert.equal((await gateway.complete(gateway.key())).text, text);
      if ('error' in fields) return;
      const body = chunk(`see http://${HOST}${PATH}`, null, fields) + chunk('b', 'stop') + usageChunk() + DONE;
      gateway.upstream.follow(streaming(body));
      const asking = chat({ stream: true, stream_options: { include_usage: true } });
      assert.equal((await gateway.complete(gateway.key(), asking)).text, body);
    });
  }

  test('members without a secret keep their bytes where another member loses one', async () => {
    const text = `{${ODD}, "debug": "${TOKEN}", "choices": [{"index": 0, "message": {"content": "hi", ${ODD}}}]}`;
    gateway.upstream.follow(answering(text));
    assert.equal((await gateway.complete(gateway.key())).text, text.replace(TOKEN, '[withheld]'));
  });
});

describe('a message about the request is passed on', () => {
  for (const words of [
    "Invalid schema for function 'get_account_balance': None is not of type 'object'.",
    'Unknown parameter: `messages[0].api_key`.',
    'Unsupported value: \'tokens\' in "billing.address" is not in the accounts list of v1 models.',
    'The relay of base64 needs 88,213 tokens; 188213 were sent.',
  ]) {
    test(words, async () => {
      gateway.upstream.follow(answering(saying(words), 400));
      const answer = await gateway.complete(gateway.key());
      assert.deepEqual([answer.status, answer.error.message], [400, words]);
    });
  }
});
