/** Attacks with output that is billed and not shown, shown where nobody looks, or written faster than anyone asks. */
import { type Conduct, type Field, UNUSUAL_FIELDS } from '../../hostile-dialects/dialogue.ts';
import { MAX_OUTPUT, type ModelName } from '../../hostile-dialects/pricing.ts';
import type { Direction } from '../../hostile-dialects/requests.ts';
import type { Attack, Family } from '../attack.ts';
import {
  billedOverBalance,
  billedOverCharged,
  billedOverHeld,
  OVER_CHARGED,
  OVER_HELD,
  overLimit,
  steps,
} from '../measures.ts';
import type { Fields } from '../names.ts';
import { billedAtPace } from '../pace.ts';
import { DEFAULT_OUTPUT } from '../site.ts';
import { NANOS_PER_USD } from '../truthful-site.ts';
import { asking, bounded, CHAT, DIRECTIONS, MESSAGES, RESPONSES, racing } from './dialect-requests.ts';

const BALANCE_NANOS = NANOS_PER_USD;
const THINKING_RACE = 30;
const THOUGHT = MAX_OUTPUT - 1_000;
const BUDGET = 2_000;

/** How a request asks for thinking, or leaves it to a model that thinks by itself, and how much the host then thinks. */
const THOUGHTS: readonly (readonly [how: string, direction: Direction, fields: Fields, thought?: number])[] = [
  ['by `reasoning_effort`', CHAT, { reasoning_effort: 'high' }],
  ['unasked', CHAT, {}],
  ['by `thinking: adaptive`', MESSAGES, { thinking: { type: 'adaptive' } }],
  ['by `thinking: adaptive` with `display: omitted`', MESSAGES, { thinking: { type: 'adaptive', display: 'omitted' } }],
  [
    'by `thinking: enabled` with a budget of 60,000',
    MESSAGES,
    { thinking: { type: 'enabled', budget_tokens: 60_000 } },
    60_000,
  ],
  [
    'by `thinking: enabled` with a budget of 2,000',
    MESSAGES,
    { thinking: { type: 'enabled', budget_tokens: BUDGET } },
    BUDGET,
  ],
  ['by `output_config.effort`', MESSAGES, { output_config: { effort: 'max' } }],
  ['by `reasoning.effort`', RESPONSES, { reasoning: { effort: 'high' } }],
  ['unasked', RESPONSES, {}],
];

const hidden = THOUGHTS.map(([how, direction, fields, thought = THOUGHT]): Attack => {
  // A few of them cost more than this.
  const limitNanos = Math.min(BALANCE_NANOS, steps(thought / DEFAULT_OUTPUT) * 3);
  const model: ModelName = Object.keys(fields).length === 0 ? 'thoughtful' : 'growing';
  const request = bounded(direction, MAX_OUTPUT, { stream: true, ...fields }, model, {
    conduct: { tokens: 20, hidden: thought },
  });
  return {
    claim: `hidden thinking, ${how} in ${direction.client}, passes no balance where holds grow with their streams`,
    tries: `${THINKING_RACE} racing streams with a maximum of 64,000, where the config has \`hold_output\`; the host thinks ${thought.toLocaleString('en')} tokens of each, ${how} in ${direction.client}, and shows none`,
    ...overLimit('balance', limitNanos, steps(THINKING_RACE)),
    run: async (workshop) =>
      billedOverBalance(await workshop.dialects(), limitNanos, racing(request, workshop.isLong, THINKING_RACE)),
  };
});

const ASKED: readonly (readonly [direction: Direction, fields: Fields])[] = [
  [CHAT, { reasoning_effort: 'high' }],
  [MESSAGES, { thinking: { type: 'adaptive', display: 'omitted' } }],
  [RESPONSES, { reasoning: { effort: 'high' } }],
];
/** Nobody can charge what only the report would have named: but the hold bounds it. */
const leftAfterThinking = ASKED.map(
  ([direction, fields]): Attack => ({
    claim: `leaving a stream of ${direction.client} after hidden thinking costs its host no more than was held`,
    passes: 'balance',
    tries: `leaves a stream of ${direction.client} in the middle of its text, after 5,000 tokens of thinking that nobody was shown, where the config has \`hold_output\``,
    ...OVER_HELD,
    run: async (workshop) =>
      billedOverHeld(
        await workshop.dialects(),
        bounded(direction, 10_000, { stream: true, ...fields }, 'growing', {
          conduct: { tokens: 1_000, hidden: 5_000 },
          leaves: 'middle',
        }),
      ),
  }),
);

/** Where only some hosts write, and how readers of the page know it. */
const WRITTEN: Readonly<Record<Field, string>> = {
  text: 'text',
  thinking: 'thinking',
  call: 'a call',
  speech: 'speech in `delta.audio`',
  'thinking details': 'thinking in `reasoning_details`',
  'thinking parts': 'thinking in parts of the content',
  compaction: '`compaction_delta.content`',
  'sealed compaction': '`compaction_delta.encrypted_content`',
  signature: '`signature_delta`, the seal of thinking that is not shown',
  'redacted thinking': '`redacted_thinking`',
  'reasoning text': '`response.reasoning_text.delta`',
  'sealed reasoning': '`encrypted_content` of reasoning',
  code: '`response.code_interpreter_call_code.delta`',
};

const ASKING: Partial<Record<Field, Fields>> = {
  speech: { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } },
  signature: { thinking: { type: 'adaptive', display: 'omitted' } },
};

const unusual = DIRECTIONS.flatMap((direction) =>
  UNUSUAL_FIELDS[direction.client].map((field) => [direction, field] as const),
);

function written(field: Field, { tokens, ...more }: Partial<Conduct> & { tokens: number }) {
  const model: ModelName = field === 'speech' ? 'speaking' : 'cheap';
  return { model, fields: { stream: true, ...ASKING[field] }, conduct: { field, tokens, ...more } };
}

const left = unusual.map(([direction, field]): Attack => {
  const piecesAtOnce = field === 'speech' ? 1 : 20;
  const { model, fields, conduct } = written(field, { tokens: 2_000, piecesAtOnce });
  return {
    claim: `what is written as ${WRITTEN[field]} is paid for by who leaves`,
    passes: 'balance',
    tries: `leaves a stream of ${direction.client} in the middle, of which all is ${WRITTEN[field]}`,
    ...OVER_CHARGED,
    run: async (workshop) =>
      billedOverCharged(
        await workshop.dialects(),
        bounded(direction, 10_000, fields, model, { conduct, leaves: 'middle' }),
      ),
  };
});

const OUTGROWING = 2_000;
/** A token of speech costs this many of text. */
const SPEECH_FACTOR = 8;

const outgrowing = unusual.map(([direction, field]): Attack => {
  // Of speech, a host writes a few seconds at once.
  const piecesAtOnce = field === 'speech' ? 1 : 2;
  const { model, fields, conduct } = written(field, { tokens: OUTGROWING, piecesAtOnce });
  const step = steps(field === 'speech' ? SPEECH_FACTOR : 1);
  const request = asking(direction, fields, model === 'cheap' ? 'growing' : model, { conduct });
  return {
    claim: `a stream of ${WRITTEN[field]} passes a balance by one step at most`,
    tries: `one stream of ${direction.client} of ${OUTGROWING} tokens, all of them ${WRITTEN[field]}, with a balance for 200`,
    ...overLimit('balance', 2 * step, step),
    run: async (workshop) => billedOverBalance(await workshop.dialects(), 2 * step, [request]),
  };
});

const PREDICTED = { prediction: { type: 'content', content: 'one two three '.repeat(5_000) } };
const unpredicted: Partial<Conduct> = { tokens: 90, isUnpredicted: true };

const predictions: readonly Attack[] = [
  {
    claim: 'what a request predicts is held for as output',
    tries: 'racing requests that predict 15,000 tokens, of which the model writes none, with a balance of 0.10 USD',
    ...overLimit('balance', BALANCE_NANOS / 10),
    run: async (workshop) =>
      billedOverBalance(
        await workshop.dialects(),
        BALANCE_NANOS / 10,
        racing(asking(CHAT, PREDICTED, 'cheap', { conduct: unpredicted }), workshop.isLong),
      ),
  },
  {
    claim: 'what a request predicts is paid for by who leaves',
    passes: 'balance',
    tries: 'leaves a stream in the middle that predicts 15,000 tokens, of which the model writes none',
    ...OVER_CHARGED,
    run: async (workshop) =>
      billedOverCharged(
        await workshop.dialects(),
        asking(CHAT, { stream: true, ...PREDICTED }, 'cheap', {
          conduct: { ...unpredicted, tokens: 1_000 },
          leaves: 'middle',
        }),
      ),
  },
];

const PACE = 2_500;
const PACED_NANOS = BALANCE_NANOS / 20;

/** How far a host is ahead of a decision depends on the machine: a new gateway with two cores cannot read 50,000 tokens a second from the start. */
const AHEAD_S = 0.5;
const AHEAD_STEPS = (AHEAD_S * PACE) / DEFAULT_OUTPUT;

const paced = [1, 20].map(
  (streams): Attack => ({
    claim: `${streams === 1 ? 'one fast stream passes' : `${streams} fast streams pass`} a spend limit by one step each at most, and what they write in ${AHEAD_S} s`,
    tries: `${streams === 1 ? 'one stream' : `${streams} racing streams`} of ${PACE} tokens a second, whoever reads them, with a spend limit of 0.05 USD, at a gateway that has just been started`,
    ...overLimit('spend limit', PACED_NANOS, steps(streams * (1 + AHEAD_STEPS))),
    run: async ({ scope }) =>
      (await billedAtPace(scope, { streams, tokensPerSecond: PACE, spendLimitNanos: PACED_NANOS })) / PACED_NANOS,
  }),
);

export const UNSEEN: Family = {
  title: 'Output that nobody sees',
  about:
    'Hosts bill what a model thinks and does not show, what it says aloud, and what it has been told to expect. Some of it comes in places of its own, and some of it faster than a gateway asks for more.',
  attacks: [...hidden, ...leftAfterThinking, ...left, ...outgrowing, ...predictions, ...paced],
};

/** Their figures do not depend on the machine. */
export const STEADY_UNSEEN: Family = { ...UNSEEN, attacks: UNSEEN.attacks.filter((attack) => !paced.includes(attack)) };
