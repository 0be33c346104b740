/** What is held for attachments: by what each is, by the terms of the model, and what no model takes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '../../../src/catalog/catalog.ts';
import type { ModelRequest } from '../../../src/dialects/dialect.ts';
import { type Plan, type Planning, plansFor, type Route, targetFor } from '../../../src/proxy/plan.ts';
import { pngOf, wavOf } from '../../support/media.ts';
import { flatPrices, testModel } from '../../support/models.ts';
import { permittedAs } from '../../support/permitted.ts';
import { chatRequest } from '../dialects/chat/chat.ts';
import { messagesRequest } from '../dialects/messages/messages.ts';
import { responsesRequest } from '../dialects/responses/responses.ts';

function planningOf(request: ModelRequest, ...terms: readonly Partial<Model>[]): Planning {
  const targets = terms.map((more, index) => {
    const targeting = targetFor(request, testModel(`p/m${index}`, { dialects: [request.dialect.name], ...more }));
    assert.ok(targeting.ok, targeting.ok ? '' : targeting.problem);
    return targeting.target;
  });
  return plansFor(permittedAs(request, targets as [(typeof targets)[0] & object]), 'none');
}

/** The input tokens of the plans, or the problem. */
function outcome(planning: Planning): readonly number[] | string {
  return planning.ok ? planning.plans.map(({ inputTokens }) => inputTokens) : planning.problem;
}

const user = (...content: readonly object[]) => chatRequest({ model: 'p/m', messages: [{ role: 'user', content }] });
const dataUrl = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`;
const image = (bytes: Buffer) => ({ type: 'image_url', image_url: { url: dataUrl('image/png', bytes) } });
const ZIP = { type: 'file', file: { file_data: dataUrl('application/zip', Buffer.from('PK\x03\x04\x00\x00')) } };
const FILE_ID = { type: 'file', file: { file_id: 'file_1' } };
const TEXT = user({ type: 'text', text: 'x' });
const WINDOW = { contextWindow: 100_000 };

/** The tokens that an attachment adds to a text of next to nothing. */
const HELD: readonly (readonly [what: string, part: object, terms: Partial<Model>, from: number, to: number])[] = [
  ['an image, by the model', image(pngOf(4_000, 4_000)), { imageTokens: 1_600 }, 1_600, 1_650],
  ['an image, by its tiles', image(pngOf(1_024, 1_024)), { imageTokens: { base: 85, tile: 170 } }, 765, 800],
  ['an image of a model that says nothing', image(pngOf(1_024, 1_536)), {}, 36_835, 36_900],
  ['an image by its address', { type: 'image_url', image_url: { url: 'https://a.example' } }, {}, 48_169, 48_250],
  [
    'a minute of audio at 100 samples a second',
    { type: 'input_audio', input_audio: { data: wavOf(100, 60).toString('base64'), format: 'wav' } },
    {},
    1_920,
    1_960,
  ],
  ['data that cannot be counted', ZIP, WINDOW, 99_900, 100_000],
  ['a file at the host', FILE_ID, { ...WINDOW, remoteFiles: true }, 99_900, 100_000],
];

describe('held for', () => {
  const [text] = outcome(planningOf(TEXT, {})) as [number];
  for (const [what, part, terms, from, to] of HELD) {
    test(what, () => {
      const [tokens] = outcome(planningOf(user(part), terms)) as [number];
      assert.ok(tokens - text >= from && tokens - text <= to, `${tokens - text} tokens`);
    });
  }
});

const FILE = { type: 'document', source: { type: 'file', file_id: 'file_1' } };
const nested = (...content: readonly object[]) => ({ type: 'document', source: { type: 'content', content } });
const messages = (...content: readonly object[]) => messagesRequest({ messages: [{ role: 'user', content }] });

/** A request, the terms of its model, and how the problem begins. */
const REFUSED: readonly (readonly [what: string, request: ModelRequest, terms: Partial<Model>, problem: RegExp])[] = [
  [
    'a file at the host',
    user(FILE_ID),
    WINDOW,
    /^messages\[0\]\.content\[0\]\.file\.file_id: it names state or content/,
  ],
  [
    'spoken audio at the host',
    chatRequest({ model: 'p/m', messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }),
    WINDOW,
    /^messages\[0\]\.audio\.id: /,
  ],
  [
    'a field that names files',
    chatRequest({ model: 'p/m', messages: [{ role: 'user', content: 'x' }], file_ids: ['file_1'] }),
    WINDOW,
    /^file_ids: /,
  ],
  [
    'data that cannot be counted',
    user(ZIP),
    {},
    /^messages\[0\]\.content\[0\]\.file\.file_data: this gateway cannot tell how/,
  ],
  [
    'a file at the host, in blocks in a result',
    messages({ type: 'tool_result', tool_use_id: 'a', content: [nested(nested(FILE))] }),
    WINDOW,
    /^messages\[0\]\.content\[0\]\.content\[0\]\.source\.content\[0\]\.source\.content\[0\]\.source\.file_id: /,
  ],
  [
    'a document by its address',
    messages({ type: 'document', source: { type: 'url', url: 'https://a.example' } }),
    WINDOW,
    /^messages\[0\]\.content\[0\]\.source\.url: /,
  ],
  [
    'a file in a screenshot',
    responsesRequest({
      input: [{ type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', file_id: 'f' } }],
    }),
    WINDOW,
    /^input\[0\]\.output\.file_id: /,
  ],
  [
    'a container at the host',
    responsesRequest({ input: [{ type: 'code_interpreter_call', id: 'ci_1', code: '', container_id: 'cntr_1' }] }),
    WINDOW,
    /^input\[0\]\.container_id: /,
  ],
];

describe('refused, with where it is:', () => {
  for (const [what, request, terms, problem] of REFUSED) {
    test(what, () => assert.match(String(outcome(planningOf(request, terms))), problem));
  }
});

describe('of a model and its fallbacks', () => {
  test('each has its own estimate of an image; the hold and the reserved tokens cover the highest', () => {
    const terms = (imageTokens: number) => ({ ...flatPrices(1_000_000n), imageTokens });
    const planning = planningOf(user(image(pngOf(10, 10))), terms(100), terms(5_000));
    assert.ok(planning.ok);
    const [together, alone] = planning.plans as [Plan, Plan];
    const [first, second] = together.routes as readonly [Route, Route];
    assert.equal(second.inputTokens - first.inputTokens, 4_900);
    assert.deepEqual([together.inputTokens, alone.inputTokens], [second.inputTokens, first.inputTokens]);
    assert.equal(together.holdNanos - alone.holdNanos, 4_900n);
    assert.equal(together.reservedTokens - alone.reservedTokens, 4_900);
  });

  test('each has its own maximum of output, also below that of a cheaper one', () => {
    const dear = { ...flatPrices(10_000_000n), defaultOutput: 10 };
    const planning = planningOf(TEXT, dear, { ...flatPrices(1_000_000n), defaultOutput: 500 });
    assert.ok(planning.ok);
    assert.deepEqual(
      planning.plans.map((plan) => [plan.outputTokens, plan.routes.map(({ outputTokens }) => outputTokens)]),
      [
        [500, [10, 500]],
        [10, [10]],
      ],
    );
  });

  test('one that cannot take the input is left out', () => {
    assert.equal((outcome(planningOf(user(ZIP), WINDOW, {})) as number[]).length, 1);
  });

  test('the first has to take it', () => {
    assert.match(String(outcome(planningOf(user(ZIP), {}, WINDOW))), /file_data: /);
  });
});
