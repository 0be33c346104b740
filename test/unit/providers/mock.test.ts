/**
 * The mock provider: the effect of each directive, and that its responses are in the
 * chat-completions format.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DIRECTIVES, type Directives, readDirectives } from '../../../src/providers/mock/directives.ts';
import { mockScript, type Script, type Step } from '../../../src/providers/mock/mock.ts';
import { readCompletion } from '../../../src/wire/completion.ts';
import { SseSplitter } from '../../../src/wire/sse.ts';
import { chatRequest } from '../wire/chat.ts';

const NOTHING: Directives = {
  help: false,
  errorStatus: undefined,
  delayMs: 0,
  paceMs: 0,
  cutAfter: undefined,
  failAfter: undefined,
  stallAfter: undefined,
  words: undefined,
  callTool: false,
  reportUsage: true,
};

const READ: readonly (readonly [prompt: string, directives: Partial<Directives>])[] = [
  ['hello', {}],
  ['/help', { help: true }],
  ['please /help me', { help: true }],
  ['/error 503', { errorStatus: 503 }],
  ['/error 399', {}],
  ['/error', {}],
  ['/error x', {}],
  ['/delay 2s', { delayMs: 2_000 }],
  ['/delay 150ms', { delayMs: 150 }],
  ['/delay 2', {}],
  ['/delay 99999999s', { delayMs: 600_000 }],
  ['/pace 100ms', { paceMs: 100 }],
  ['/cut 3', { cutAfter: 3 }],
  ['/cut 0', { cutAfter: 0 }],
  ['/fail 3', { failAfter: 3 }],
  ['/stall 3', { stallAfter: 3 }],
  ['/words 200', { words: 200 }],
  ['/words 999999', { words: 10_000 }],
  ['/tool', { callTool: true }],
  ['/no-usage', { reportUsage: false }],
  ['/words 5 /pace 10ms\n/no-usage', { words: 5, paceMs: 10, reportUsage: false }],
  ['a/help and/tool', {}],
  ['/helpful', {}],
  ['https://example.com/error 503', {}],
];

describe('the prompt sets', () => {
  for (const [prompt, directives] of READ) {
    test(`${JSON.stringify(prompt)}: ${JSON.stringify(directives)}`, () => {
      assert.deepEqual(readDirectives(prompt), { ...NOTHING, ...directives });
    });
  }

  test('each directive that the help lists, and no other', () => {
    for (const [usage] of DIRECTIVES) assert.notDeepEqual(readDirectives(usage), NOTHING, usage);
    const named = DIRECTIVES.map(([usage]) => usage.split(' ')[0]?.slice(1));
    assert.deepEqual(named, ['help', 'error', 'delay', 'pace', 'cut', 'fail', 'stall', 'words', 'tool', 'no-usage']);
  });
});

const TOOLS = [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }];

function script(prompt: string, fields: object = {}): Script {
  const request = chatRequest({ model: 'mock/echo', messages: [{ role: 'user', content: prompt }], ...fields });
  const played = mockScript(request, { id: 'chatcmpl-1', createdS: 1_700_000_000 });
  return { ...played, steps: [...played.steps] };
}

const bytesOf = (steps: Iterable<Step>) => [...steps].map(({ bytes }) => bytes ?? '').join('');

type Json = Record<string, unknown>;
interface Choice {
  index: number;
  finish_reason: string | null;
  message?: Json;
  delta?: Json;
}

const jsonOf = ({ steps }: Script) => JSON.parse(bytesOf(steps)) as Json & { choices: Choice[]; usage?: Json };

/** The data of a stream's events, parsed except for the last. */
function eventsOf({ steps }: Script): (Json & { choices: Choice[]; usage?: Json; error?: Json })[] {
  const events = new SseSplitter().push(Buffer.from(bytesOf(steps))).map(({ data }) => data ?? '');
  return events.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data));
}

const callsIn = (message: Json | undefined) =>
  (message?.tool_calls ?? []) as { index: number; type: string; function: Json }[];

const textOf = (stream: Script) =>
  eventsOf(stream)
    .map(({ choices }) => choices[0]?.delta?.content ?? '')
    .join('');

describe('a plain completion', () => {
  test('is a chat completion with the prompt as its answer', () => {
    const answer = jsonOf(script('hello there'));
    assert.deepEqual(
      [answer.id, answer.object, answer.created, answer.model],
      ['chatcmpl-1', 'chat.completion', 1_700_000_000, 'mock/echo'],
    );
    assert.equal(answer.choices.length, 1);
    assert.match(String(answer.choices[0]?.message?.content), /^You said: hello there\n/);
    assert.equal(answer.choices[0]?.finish_reason, 'stop');
    const { usage } = readCompletion(answer);
    assert.ok(usage !== undefined && usage.promptTokens > 0 && usage.completionTokens > 0);
  });

  test('has as many choices as requested, and their tokens in its usage', () => {
    const [one, three] = [jsonOf(script('/words 5')), jsonOf(script('/words 5', { n: 3 }))];
    assert.deepEqual(
      three.choices.map(({ index }) => index),
      [0, 1, 2],
    );
    assert.equal(three.usage?.completion_tokens, 3 * (one.usage?.completion_tokens as number));
  });

  test('ends at the maximum of output, with the finish reason for it', () => {
    const answer = jsonOf(script('/words 20', { max_tokens: 3 }));
    assert.equal(answer.choices[0]?.message?.content, 'word word word');
    assert.equal(answer.choices[0]?.finish_reason, 'length');
    assert.equal(answer.usage?.completion_tokens, 3);
  });

  test('calls the first tool', () => {
    const [choice] = jsonOf(script('/tool', { tools: TOOLS })).choices;
    const [call] = callsIn(choice?.message);
    assert.equal(choice?.finish_reason, 'tool_calls');
    assert.deepEqual([call?.type, call?.function], ['function', { name: 'look_up', arguments: '{}' }]);
    assert.equal(choice?.message?.content, null);
  });

  test('is text if there is no tool to call', () => {
    assert.match(String(jsonOf(script('/tool')).choices[0]?.message?.content), /You said: \/tool/);
  });

  test('omits its usage, shows the help, and waits, as the prompt asks', () => {
    assert.equal(jsonOf(script('/no-usage')).usage, undefined);
    const help = String(jsonOf(script('/help')).choices[0]?.message?.content);
    for (const [usage, meaning] of DIRECTIVES) assert.ok(help.includes(`${usage}: ${meaning}`));
    assert.equal(script('/delay 2s').delayMs, 2_000);
    assert.equal([...script('/words 5 /pace 10ms').steps][0]?.afterMs, 50);
  });

  test('reads text parts, and the last message of the user', () => {
    const messages = [
      { role: 'user', content: '/words 9' },
      {
        role: 'user',
        content: [
          { type: 'text', text: '/words 2' },
          { type: 'image_url', image_url: { url: 'x' } },
        ],
      },
      { role: 'assistant', content: 'x' },
    ];
    assert.equal(jsonOf(script('', { messages })).choices[0]?.message?.content, 'word word');
  });
});

describe('a stream', () => {
  const stream = { stream: true };

  test('sends a role, then words, then a finish reason, then usage, then its end', () => {
    const played = script('/words 3', stream);
    const events = eventsOf(played);
    assert.equal(played.contentType, 'text/event-stream');
    assert.deepEqual(events[0]?.choices[0]?.delta, { role: 'assistant', content: '' });
    assert.equal(textOf(played), 'word word word');
    assert.deepEqual(
      events.map(({ choices }) => choices[0]?.finish_reason ?? null),
      [null, null, null, null, 'stop', null],
    );
    assert.deepEqual(events.at(-1)?.choices, []);
    assert.ok(events.at(-1)?.usage !== undefined);
    assert.ok(bytesOf(played.steps).endsWith('data: [DONE]\n\n'));
  });

  test('has the same content and usage as the plain completion', () => {
    const [whole, pieces] = [jsonOf(script('hello there')), script('hello there', stream)];
    assert.equal(textOf(pieces), whole.choices[0]?.message?.content);
    assert.deepEqual(eventsOf(pieces).at(-1)?.usage, whole.usage);
  });

  test('waits between words', () => {
    const waits = [...script('/words 3 /pace 10ms', stream).steps].map(({ afterMs }) => afterMs);
    assert.deepEqual(waits, [0, 0, 10, 10, 0]);
  });

  const STOPS: readonly (readonly [prompt: string, text: string, ending: Step['ending']])[] = [
    ['/words 9 /cut 3', 'word word word', 'break'],
    ['/words 9 /cut 0', '', 'break'],
    ['/words 9 /cut 9', 'word word word word word word word word word', 'break'],
    ['/words 9 /stall 2', 'word word', 'silence'],
  ];
  for (const [prompt, text, ending] of STOPS) {
    test(`${prompt} ends in a ${ending}, without a finish reason or an end`, () => {
      const played = script(prompt, stream);
      assert.equal([...played.steps].at(-1)?.ending, ending);
      const bytes = bytesOf(played.steps);
      assert.ok(!bytes.includes('[DONE]') && !bytes.includes('"finish_reason":"'));
      assert.equal(textOf(played), text);
    });
  }

  test('/fail sends an error event after that many words, and nothing more', () => {
    const events = eventsOf(script('/words 9 /fail 2', stream));
    assert.equal(events.length, 4);
    assert.ok(events.at(-1)?.error !== undefined);
  });

  test('calls the first tool, with its index', () => {
    const events = eventsOf(script('/tool', { ...stream, tools: TOOLS }));
    const [call] = callsIn(events[0]?.choices[0]?.delta);
    assert.deepEqual([call?.index, call?.function], [0, { name: 'look_up', arguments: '{}' }]);
    assert.ok(events.some(({ choices }) => choices[0]?.finish_reason === 'tool_calls'));
  });
});

describe('a plain completion that fails', () => {
  for (const [prompt, ending] of [
    ['/cut 3', 'break'],
    ['/fail 3', 'break'],
    ['/stall 3', 'silence'],
  ] as const) {
    test(`${prompt} ends in a ${ending} in the middle of its body`, () => {
      const steps = [...script(prompt).steps];
      assert.equal(steps.at(-1)?.ending, ending);
      assert.throws(() => JSON.parse(bytesOf(steps)));
    });
  }

  for (const fields of [{}, { stream: true }]) {
    test(`/error is an error response with that status, for ${JSON.stringify(fields)}`, () => {
      const played = script('/error 429', fields);
      assert.deepEqual([played.status, played.contentType], [429, 'application/json']);
      assert.match(bytesOf(played.steps), /^\{"error":\{"message":/);
    });
  }
});
