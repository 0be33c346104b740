/**
 * Attacks of one key on all others: on the model that they share, on memory, and on the event loop.
 */
import { answering, completion } from '../../support/answers.ts';
import { chat, startTestGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/wait.ts';
import type { Attack, Family } from '../attack.ts';
import { memoryOfBodies } from '../bodies.ts';
import { cpuOfAnswer, cpuOfRefusedBodies } from '../processor.ts';

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

export const NEIGHBOURS: Family = {
  title: 'One key against all others',
  about: 'All keys share the models, the memory and the event loop of a gateway. What one of them can take is bounded.',
  attacks: [rejections, ...bodies, refused, ...answers],
};
