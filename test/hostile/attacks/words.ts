/**
 * What hosts say in errors: the operator's addresses, keys and account are in it, and reach no
 * client.
 */
import { chunk, completion, DONE, event } from '../../support/answers.ts';
import { FakeUpstream, type Script } from '../../support/fake-upstream.ts';
import { chat, startTestGateway, type TestGateway } from '../../support/gateway.ts';
import type { Attack, Family, WorkshopLike } from '../attack.ts';

/** In the address of the host and its key. */
const SECRETS = {
  account: 'acct-canary-4711',
  'relay token': 'relay-token-canary-0815',
  key: 'upstream-key-canary-2342',
} as const;
const PATH = `/accounts/${SECRETS.account}/${SECRETS['relay token']}/v1`;

/**
 * Opens a gateway whose host has secrets in its path, and gives the answer of that host to a
 * client.
 */
async function answerOf(
  script: (words: string) => Script,
  stream: boolean,
  words: readonly string[],
): Promise<string[]> {
  const host = await FakeUpstream.start();
  const base_url = `http://127.0.0.1:${host.port}${PATH}`;
  const models = { echo: { input: 1, output: 2 } };
  const provider = { kind: 'openai', base_url, api_key: SECRETS.key, models };
  const gateway = await startTestGateway({ config: { providers: { fake: provider }, retry: { attempts: 1 } } });
  try {
    return await answersTo(gateway, host, script, stream, words);
  } finally {
    await gateway.stop();
    await host.close();
  }
}

async function answersTo(
  gateway: TestGateway,
  host: FakeUpstream,
  script: (words: string) => Script,
  stream: boolean,
  words: readonly string[],
): Promise<string[]> {
  const key = gateway.key({ rpm: 100_000 });
  const texts: string[] = [];
  for (const each of words) {
    host.follow(script(each));
    texts.push((await gateway.complete(key, chat({ stream }))).text);
  }
  return texts;
}

const error = (message: string) => ({ error: { message, type: 'server_error' } });

const PLACES: readonly (readonly [place: string, stream: boolean, script: (words: string) => Script])[] = [
  ['a 400', false, (words) => (call) => call.answer(400, error(words))],
  ['a 422', false, (words) => (call) => call.answer(422, { detail: words })],
  ['a 500', false, (words) => (call) => call.answer(500, error(words))],
  ['an error with status 200', false, (words) => (call) => call.answer(200, error(words))],
  [
    'an error beside choices with status 200',
    false,
    (words) => (call) => call.answer(200, completion('hi', error(words))),
  ],
  [
    'an error as the first event of a stream',
    true,
    (words) => (call) => {
      call.stream();
      call.send(event(error(words)));
      call.end();
    },
  ],
  [
    'an error within a stream',
    true,
    (words) => (call) => {
      call.stream();
      call.send(chunk('hi') + event(error(words)) + DONE);
      call.end();
    },
  ],
  [
    'an error beside choices in a stream',
    true,
    (words) => (call) => {
      call.stream();
      call.send(chunk('hi') + chunk('', null, error(words)) + DONE);
      call.end();
    },
  ],
];

const TELLING: Readonly<Record<string, readonly string[]>> = {
  'a part of its path': [
    `cannot POST ${PATH}/chat/completions`,
    `no route for ${SECRETS.account}`,
    `token ${SECRETS['relay token'].toUpperCase()} is unknown`,
    `see "${encodeURIComponent(PATH)}"`,
  ],
  'its key': [`invalid value ${SECRETS.key}`, `header was 'Bearer ${SECRETS.key}'`],
};

const HIDDEN = [...Object.values(SECRETS)];

const secrets: Attack[] = PLACES.flatMap(([place, stream, script]) =>
  Object.entries(TELLING).map(([what, words]) => ({
    claim: `a host that shows ${what} in ${place} shows it to nobody`,
    passes: 'secrets',
    tries: `the host writes ${what} into ${place}`,
    unit: `of ${words.length} messages with a secret`,
    most: 0,
    async run(_: WorkshopLike) {
      const texts = await answerOf(script, stream, words);
      return texts.filter((text) => HIDDEN.some((secret) => text.toLowerCase().includes(secret))).length;
    },
  })),
);

/** Sentences on the operator's account, as relays quote them from the host behind them. */
const ON_THE_ACCOUNT = [
  'upstream said: "Your account balance is too low. Please top up your credits to go on."',
  "provider error: 'Your organization has been disabled because of an unpaid invoice.'",
  'error from backend: `insufficient quota: your plan has exceeded its monthly billing limit`',
  'bad request: "{\\"message\\":\\"Incorrect API key provided, check your billing details\\"}"',
];

const account: Attack[] = PLACES.filter(([place]) => !place.includes('beside')).map(([place, stream, script]) => ({
  claim: `a quoted sentence on the operator's account in ${place} is withheld`,
  passes: 'secrets',
  tries: `the host quotes sentences on the operator's account in ${place}`,
  unit: `of ${ON_THE_ACCOUNT.length} sentences`,
  most: 0,
  async run(_: WorkshopLike) {
    const texts = await answerOf(script, stream, ON_THE_ACCOUNT);
    return texts.filter((text) => /balance|organization|quota|billing/i.test(text)).length;
  },
}));

export const WORDS: Family = {
  title: 'What hosts say',
  about:
    'A sender can provoke errors at the host, and read what it says. The address of a host, its path included, and its key are secrets; so is what it says about the operator.',
  attacks: [...secrets, ...account],
};
