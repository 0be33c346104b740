/** Which values of a host are secrets, and which words are too ordinary to be. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { secretsOf } from '../../../src/providers/secrets.ts';
import { holdsSecret, type Secrets } from '../../../src/wire/secrets.ts';
import { wordsForClients } from '../../../src/wire/upstream-error.ts';
import { runs } from '../../support/at-length.ts';

const of = (baseUrl: string, apiKey?: string, headers = {}): Secrets => secretsOf({ baseUrl, apiKey, headers });

/** Base URLs as operators have them, with what is a secret in them besides the host. */
const BASE_URLS: readonly (readonly [baseUrl: string, ...secrets: string[]])[] = [
  ['https://api.openai.com/v1'],
  ['https://host.example/openai/v1', '/openai/v1'],
  ['https://host.example/openai/deployments/chat-east', '/openai/deployments/chat-east', 'chat-east'],
  ['https://host.example/v4/accounts/f3a9/ai/v1', '/v4/accounts/f3a9/ai/v1', 'f3a9'],
  ['https://host.example/v1beta/openai/', '/v1beta/openai'],
  ['https://host.example/v1/t%20m/caf%C3%A9-7/compat', 't m', 'café-7', 'caf%C3%A9-7'],
];

describe('the secrets of an address', () => {
  for (const [baseUrl, ...secrets] of BASE_URLS) {
    test(`${baseUrl}: ${secrets.join(', ') || 'only the host'}`, () => {
      for (const secret of [new URL(baseUrl).host, ...secrets]) {
        assert.ok(holdsSecret(`No route to ${secret}.`, of(baseUrl)), secret);
      }
      const ordinary = 'POST /v1/chat/completions: the openai API takes no deployments of accounts v4 or v1beta';
      assert.ok(!holdsSecret(ordinary, of(baseUrl)));
    });
  }
});

const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~'.split('');
/** A digit, so that it is no ordinary word; not only of dots, which a URL resolves. */
const segment = fc
  .tuple(fc.string({ unit: fc.constantFrom(...letters), minLength: 2, maxLength: 40 }), fc.nat(9))
  .map(([text, digit]) => `x${text}${digit}`);
const ordinary = fc.constantFrom('v1', 'api', 'openai', 'relay', 'accounts', 'deployments', 'proxy');
const path = fc.array(ordinary, { maxLength: 3 });
const filler = fc.string({ unit: fc.constantFrom('the ', 'No. ', '(', ')', '"', "'", ' ', ': ', '/'), maxLength: 8 });

test('no segment of a path reaches a client, wherever it is and however a message spells it', () => {
  fc.assert(
    fc.property(path, segment, path, filler, filler, fc.nat(5), (before, secret, after, start, end, spelling) => {
      const pathname = `/${[...before, secret, ...after].join('/')}`;
      const spelled = [
        secret,
        secret.toUpperCase(),
        pathname,
        `https://elsewhere.example${pathname}/chat/completions`,
        encodeURIComponent(`${pathname}/chat`),
        JSON.stringify({ path: pathname }),
      ][spelling];
      const message = `${start} ${spelled} ${end}`;
      assert.equal(wordsForClients({ message, labels: [] }, of(`https://host.example${pathname}`)), undefined, message);
    }),
    { numRuns: runs(2_000) },
  );
});

describe('credentials, which whole answers are searched for, are', () => {
  const key = (apiKey: string) => of('http://h.example/v1', apiKey).credentials;

  test('keys, but no words that local hosts take for a key', () => {
    assert.deepEqual(key('sk-of-the-operator'), ['sk-of-the-operator']);
    assert.deepEqual(key('a1b2c3d4'), ['a1b2c3d4']);
    for (const word of ['ollama', 'EMPTY', 'lm-studio', '', 'none']) assert.deepEqual(key(word), [], word);
  });

  test('headers and queries with the name of a credential, without the scheme', () => {
    const headers = {
      Authorization: 'Bearer tok-of-the-team-1',
      'X-Title': 'Acme Chat for 2026',
      Cookie: 'a=b1c2d3e4',
    };
    assert.deepEqual(of('http://h.example/v1?sig=9f8e7d6c5b&api-version=2026-01-01', undefined, headers).credentials, [
      '9f8e7d6c5b',
      'tok-of-the-team-1',
      'a=b1c2d3e4',
    ]);
  });

  test('segments of a path that look random, but no names of models', () => {
    const random = '7f3a9c2e81b04d56';
    assert.deepEqual(of(`http://h.example/accounts/${random}/v1`).credentials, [random]);
    for (const name of ['gpt-4o-mini-2024-07-18', 'Meta-Llama-3.1-405B-Instruct-FP8', 'us-central1-production']) {
      assert.deepEqual(of(`http://h.example/${name}/v1`).credentials, [], name);
    }
    assert.deepEqual(of(`http://h.example/openai/deployments/${random}`).credentials, []);
  });
});
