/**
 * Attacks of one key on all others: on the model that they share, on memory, and on the event loop.
 */
import { answering, completion } from '../../support/answers.ts';
import { inParallel, Workplace } from '../../support/cli.ts';
import { chat, startTestGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/wait.ts';
import type { Attack, Family } from '../attack.ts';
import { memoryOfBodies } from '../bodies.ts';
import { cpuOfAnswer, cpuOfCount, cpuOfPreface, cpuOfRefusedBodies } from '../processor.ts';

const PAUSE_S = 600;
const REJECTIONS = 10;
/** A model that its host can serve again is tried every few seconds. */
const MOST_WAIT_S = 10;

/**
 * The `Retry-After` that another key gets once one key has had ten 429. Within that time the model
 * must serve again.
 */
async function waitOfOthers(gateway: TestGateway): Promise<number> {
  const [attacker, other] = [gateway.key(), gateway.key({ rpm: 1_000_000 })];
  const { upstream } = gateway;
  upstream.follow((call) => call.answer(429, { error: { message: 'slow down' } }, { 'retry-after': String(PAUSE_S) }));
  for (let sent = 0; sent < REJECTIONS; sent++) await gateway.complete(attacker, chat());
  upstream.follow(answering(completion('hi')));
  const { status, headers } = await gateway.complete(other, chat());
  const waitS = status === 200 ? 0 : Number(headers.get('retry-after') ?? PAUSE_S);
  if (waitS <= MOST_WAIT_S) await until(async () => (await gateway.complete(other, chat())).status === 200);
  return waitS;
}

const rejections: Attack = {
  claim: 'ten rejections of one key do not take a model from the others',
  passes: 'other keys',
  tries: `provokes ${REJECTIONS} answers 429 with \`Retry-After: ${PAUSE_S}\``,
  unit: 's that the others have to wait',
  most: MOST_WAIT_S,
  async run() {
    const gateway = await startTestGateway();
    try {
      return await waitOfOthers(gateway);
    } finally {
      await gateway.stop();
    }
  },
};

const OTHERS = 20;
const COUNTED = JSON.stringify({ model: 'fake/echo', messages: [{ role: 'user', content: 'Hello' }] });
const ANSWER = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
};
const MESSAGES_HOST = {
  kind: 'anthropic',
  models: { echo: { input: 1, output: 1, cache_write: 1, cache_write_1h: 1, max_output: 100 } },
};

/** How many requests of another key fail once the host has told a key that may spend nothing not to count so often. */
async function failedAfterCounting(gateway: TestGateway): Promise<number> {
  const [attacker, other] = [gateway.key({ spendLimitNanos: 0n }), gateway.key({ rpm: 1_000_000 })];
  gateway.upstream.follow((call) => {
    if (!call.path.endsWith('/count_tokens'))
      return call.answer(200, { ...ANSWER, usage: { input_tokens: 5, output_tokens: 5 } });
    call.answer(429, { error: { message: 'slow down' } }, { 'retry-after': String(PAUSE_S) });
  });
  const count = () => gateway.post('/v1/messages/count_tokens', attacker, COUNTED);
  for (let sent = 0; sent < REJECTIONS; sent++) await count();
  let failed = 0;
  for (let sent = 0; sent < OTHERS; sent++) {
    await count();
    const { status } = await gateway.post('/v1/messages', other, { ...JSON.parse(COUNTED), max_tokens: 10 });
    if (status !== 200) failed++;
  }
  return failed;
}

const counting: Attack = {
  claim: 'a host that counts no more tokens for one key serves all others',
  passes: 'other keys',
  tries: `has tokens counted by a key that may spend nothing, until the host answers 429 with \`Retry-After: ${PAUSE_S}\``,
  unit: `of ${OTHERS} requests of others that fail`,
  most: 0,
  async run() {
    const gateway = await startTestGateway({ provider: MESSAGES_HOST });
    try {
      return await failedAfterCounting(gateway);
    } finally {
      await gateway.stop();
    }
  },
};

/** More names than have sums of their own in a month. */
const NAMES = 1_001;
const NAMES_AT_ONCE = 8;

const names: Attack = {
  claim: 'the names of one key take no places from those of others',
  passes: 'other keys',
  tries: `sends requests for ${NAMES} users, and then another key one for its own`,
  unit: 'of one user of another key without a sum of its own',
  most: 0,
  async run({ scope }) {
    const place = new Workplace(scope);
    const [attacker, other] = [await place.createKey('a', '--rpm', '100000'), await place.createKey('b')];
    const serving = await place.serveHere();
    const send = async (key: string, user: string) => (await serving.chat(key, { model: 'mock/echo', user })).text();
    const users = Array.from({ length: NAMES }, (_, index) => `user-${index}`);
    await inParallel(users, (user) => send(attacker.key, user), NAMES_AT_ONCE);
    await send(other.key, 'somebody');
    await serving.stop();
    const rows = await place.json<readonly { readonly user: string }[]>('usage', '--by', 'user');
    return rows.some(({ user }) => user === 'somebody') ? 0 : 1;
  },
};

const counts: Attack = {
  claim: 'counting the tokens of a large body costs little more than serving it',
  passes: 'event loop',
  tries: 'has the tokens of a body of 16 MB counted by a key that may spend nothing',
  unit: 'times the processor time of a request with that body',
  most: 3,
  run: ({ scope }) => cpuOfCount(scope, 16 * 1024 ** 2),
};

const BODIES = 48;
const BODY_BYTES = 4 * 1024 ** 2;
const LONG_BODY_BYTES = 30 * 1024 ** 2;

const bodies: Attack[] = [
  { who: 'a key that may spend nothing', limits: { spendLimitNanos: 0n }, most: 2 },
  { who: 'a key with money', limits: {}, most: 20 },
].map(({ who, limits, most }) => ({
  claim: `unfinished bodies of ${who} are bounded in memory`,
  passes: 'memory',
  tries: `begins ${BODIES} bodies of 30 MB by ${who}, and finishes none`,
  unit: `of ${BODIES} bodies held in memory`,
  most,
  run: ({ scope, isLong }) =>
    memoryOfBodies(scope, { bodies: BODIES, bodyBytes: isLong ? LONG_BODY_BYTES : BODY_BYTES, limits }),
}));

const refused: Attack = {
  claim: 'large bodies that are refused cost the others little',
  passes: 'event loop',
  tries: 'sends 24 bodies of 8 MB with an unknown model at once',
  unit: 'times the processor time of one of them alone',
  most: 15,
  run: ({ scope }) => cpuOfRefusedBodies(scope, 24, 8 * 1024 ** 2),
};

const TINY = '{"text":"a"},';
const tiny = (bytes: number) => `[${TINY.repeat(Math.floor(bytes / TINY.length))}{"text":"a"}]`;

const ANSWERS: readonly (readonly [what: string, stream: boolean, choices: (bytes: number) => string])[] = [
  [
    'an answer of tiny parts',
    false,
    (bytes) => `[{"index":0,"message":{"content":${tiny(bytes)}},"finish_reason":"stop"}]`,
  ],
  ['an answer of tiny choices', false, tiny],
  [
    'an event of tiny parts',
    true,
    (bytes) => `[{"index":0,"delta":{"content":${tiny(bytes)}},"finish_reason":"stop"}]`,
  ],
];

const answers: Attack[] = ANSWERS.map(([what, stream, choices]) => ({
  claim: `${what} costs little more than one of text`,
  passes: 'event loop',
  tries: `has the host send ${what}, 16 MB in all`,
  unit: 'times the processor time of an answer of one text',
  most: 2,
  run: ({ scope }) => cpuOfAnswer(scope, stream, choices(16 * 1024 ** 2)),
}));

const blanks: Attack[] = ['\n', '\r\n'].map((end) => ({
  claim: `a stream of blank lines that end with ${end === '\n' ? 'LF' : 'CRLF'} costs little more than one of text`,
  passes: 'event loop',
  tries: `has the host send 16 MB of blank lines that end with ${end === '\n' ? 'LF' : 'CRLF'} in a stream`,
  unit: 'times the processor time of a stream of one text',
  most: 2,
  run: ({ scope }) => cpuOfPreface(scope, end.repeat((16 * 1024 ** 2) / end.length)),
}));

/** More keys than a key may create in a day, one after another. */
const CREATIONS = 1_100;
const MOST_IN_A_DAY = 1_000;
const CREATIONS_AT_ONCE = 4;

const children: Attack = {
  claim: 'a key that creates and deletes keys leaves a bounded number of them in the state',
  passes: 'memory',
  tries: `creates ${CREATIONS} keys by a key that may create, and deletes each at once`,
  unit: `of ${CREATIONS} keys left in the state`,
  most: MOST_IN_A_DAY,
  async run() {
    const gateway = await startTestGateway();
    try {
      const key = gateway.key({ mayCreate: true });
      const names = Array.from({ length: CREATIONS }, (_, index) => `child-${index}`);
      const create = async (name: string) => {
        const { status, text } = await gateway.post('/v1/keys', key, { name });
        if (status === 201) await gateway.request(`/v1/keys/${JSON.parse(text).id}`, { key, method: 'DELETE' });
      };
      await inParallel(names, create, CREATIONS_AT_ONCE);
      return gateway.childrenOf(key);
    } finally {
      await gateway.stop();
    }
  },
};

export const NEIGHBOURS: Family = {
  title: 'One key against all others',
  about: 'All keys share the models, the memory and the event loop of a gateway. What one of them can take is bounded.',
  attacks: [rejections, counting, children, names, ...bodies, refused, counts, ...answers, ...blanks],
};

/** Those that are short, and whose figures do not depend on how busy the machine is. */
export const QUICK_NEIGHBOURS: Family = { ...NEIGHBOURS, attacks: [rejections, counting, children] };
