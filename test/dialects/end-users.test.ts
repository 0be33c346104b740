/** End users in every dialect: each place for a name is read, and no host of Google gets one of these names. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedGateway, type TestGateway } from '../support/gateway.ts';
import {
  ASKED,
  type Asked,
  answerOf,
  gatewayFor,
  isOfGoogle,
  pathOf,
  sendingOf,
  USER_PLACES,
  type UserPlace,
} from '../support/named-users.ts';

const openai = await sharedGateway(gatewayFor('openai'));
const google = await sharedGateway(gatewayFor('google'));
const hostOf = (asked: Asked) => (isOfGoogle(asked) ? google : openai);

/** What hosts may mistake for a reference, a number or an address. */
const NAMES = ['zoë', 'urn:user:5', '700141', 'https://example.com/users/5'];

async function send(
  gateway: TestGateway,
  asked: Asked,
  names: Partial<Record<UserPlace, string>>,
  key = gateway.key(),
) {
  gateway.upstream.follow(answerOf(asked));
  const reply = await gateway.request(pathOf(asked), { key, ...(await sendingOf(asked, names)) });
  assert.equal(reply.status, 200, reply.text);
  const call = await gateway.upstream.call();
  return { user: gateway.rows(key)[0]?.by_user, body: call.body };
}

for (const asked of ASKED) {
  describe(`${asked}:`, () => {
    // To count tokens writes no row.
    const isRecorded = asked !== 'countTokens';

    for (const place of USER_PLACES) {
      test(`${place} names the end user, whatever the name looks like`, async () => {
        for (const name of NAMES) {
          const { user, body } = await send(hostOf(asked), asked, { [place]: name });
          if (isRecorded) assert.equal(user, name);
          const mayReachHost = place !== 'X-Inf-Gw-User' && !isOfGoogle(asked);
          assert.equal(body.includes(name), mayReachHost, body);
        }
      });
    }

    test('of several places the first counts, and an empty one does not', async () => {
      for (const [first, place] of USER_PLACES.entries()) {
        const names = USER_PLACES.map(
          (each, at) => [each, at < first ? '' : at === first ? 'first' : 'later'] as const,
        );
        const { user, body } = await send(hostOf(asked), asked, Object.fromEntries(names));
        if (isRecorded) assert.equal(user, 'first', place);
        if (isOfGoogle(asked)) assert.doesNotMatch(body, /"user":|metadata|safety|first|later/i);
      }
    });
  });
}

describe("in Google's dialect", () => {
  const body = (fields: object) => ({ contents: [{ role: 'user', parts: [{ text: 'Hi' }] }], ...fields });

  test('only the name of the user is taken out of metadata', async () => {
    google.upstream.follow(answerOf('generateContent'));
    const key = google.key();
    await google.post(pathOf('generateContent'), key, body({ metadata: { trace: 1.0, user_id: 'zoe', user: 'x' } }));
    assert.match((await google.upstream.call()).body, /"metadata":\{"trace":1,"user":"x"\}/);
    assert.equal(google.rows(key)[0]?.by_user, 'zoe');
  });

  test('metadata without a name reaches the host as it is', async () => {
    for (const metadata of [null, 'x', {}, { trace: 1 }]) {
      google.upstream.follow(answerOf('generateContent'));
      await google.post(pathOf('generateContent'), google.key(), body({ metadata }));
      assert.deepEqual(JSON.parse((await google.upstream.call()).body).metadata, metadata);
    }
  });

  test('a field that differs from one of these by letter case alone is 400', async () => {
    for (const name of ['User', 'SAFETY_identifier', 'metaData']) {
      const reply = await google.post(pathOf('generateContent'), google.key(), body({ [name]: 'zoe' }));
      assert.equal(reply.status, 400);
      assert.match(reply.error.message, /only by letter case/);
    }
  });

  test('a request to count that wraps another names nobody to the host', async () => {
    google.upstream.follow(answerOf('countTokens'));
    const wrapped = { generateContentRequest: body({ user: 'zoe', safety_identifier: 'zoe' }), user: 'zoe' };
    assert.equal((await google.post(pathOf('countTokens'), google.key(), wrapped)).status, 200);
    assert.doesNotMatch((await google.upstream.call()).body, /zoe/);
  });

  test('a host of another dialect serves it, and gets no name either', async () => {
    openai.upstream.follow(answerOf('chat'));
    const key = openai.key();
    const names = { user: 'zoe', safety_identifier: 'zoe', metadata: { user_id: 'zoe' } };
    const reply = await openai.post(pathOf('generateContent'), key, body(names));
    assert.equal(reply.status, 200, reply.text);
    assert.doesNotMatch((await openai.upstream.call()).body, /zoe/);
    assert.equal(openai.rows(key)[0]?.by_user, 'zoe');
  });
});

/** A field that is not of a dialect is 400 where it is translated. */
const PLACES_OF: Readonly<Record<string, readonly UserPlace[]>> = {
  chat: USER_PLACES,
  responses: USER_PLACES,
  messages: ['X-Inf-Gw-User', 'metadata.user_id'],
  embeddings: ['X-Inf-Gw-User', 'user'],
};

test("names in other dialects reach no host of Google's", async () => {
  for (const asked of ['chat', 'responses', 'messages', 'embeddings'] as const) {
    for (const place of PLACES_OF[asked] as readonly UserPlace[]) {
      google.upstream.follow(answerOf(asked === 'embeddings' ? 'batchEmbedContents' : 'generateContent'));
      const key = google.key();
      const reply = await google.request(pathOf(asked), { key, ...(await sendingOf(asked, { [place]: 'zoe' })) });
      assert.equal(reply.status, 200, reply.text);
      assert.doesNotMatch((await google.upstream.call()).body, /zoe/);
      assert.equal(google.rows(key)[0]?.by_user, 'zoe');
    }
  }
});
