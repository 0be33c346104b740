/**
 * The two upstreams for tests of the official clients, each behind a gateway: the mock, and a
 * scripted host.
 */
import { chunk, completion, DONE, event, usageChunk } from '../support/answers.ts';
import type { Script } from '../support/fake-upstream.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

export interface Host {
  readonly what: string;
  readonly model: string;
  readonly gateway: TestGateway;
  /** Makes the host respond to the next requests like this; returns the prompt that asks for it. */
  prepare(behaviour: Behaviour): string;
}

/** The behaviours of a host, and how each of the two implements them. */
export type Behaviour = keyof typeof BEHAVIOURS;

const TOOL_CALL = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{}' } };
/** The start of a stream: a role, then words. */
const pieces = (...words: readonly string[]) => [
  deltaChunk({ role: 'assistant' }),
  ...words.map((word) => chunk(word)),
];

function stream(call: Parameters<Script>[0], ...events: readonly string[]): void {
  call.stream();
  for (const each of events) call.send(each);
}

function finishedStream(...events: readonly string[]): Script {
  return (call) => {
    stream(call, ...events, usageChunk(), DONE);
    call.end();
  };
}

const BEHAVIOURS = {
  words: {
    prompt: '/words 3',
    json: (call) => call.answer(200, completion('word word word')),
    stream: finishedStream(...pieces('word', ' word', ' word'), chunk('', 'stop')),
  },
  tool: {
    prompt: '/tool',
    json: (call) => {
      const message = { role: 'assistant', content: null, tool_calls: [TOOL_CALL] };
      call.answer(200, completion('', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }));
    },
    // The arguments are split in two, as most hosts do it.
    stream: finishedStream(
      ...pieces(),
      toolChunk({ ...TOOL_CALL, function: { name: 'look_up', arguments: '' } }),
      toolChunk({ function: { arguments: '{' } }),
      toolChunk({ function: { arguments: '}' } }),
      chunk('', 'tool_calls'),
    ),
  },
  error: {
    prompt: '/error 503',
    json: (call) => call.answer(503, { error: { message: 'overloaded' } }),
    stream: (call) => call.answer(503, { error: { message: 'overloaded' } }),
  },
  failure: {
    prompt: '/words 9 /fail 2',
    json: (call) => call.reset(),
    stream: (call) => stream(call, ...pieces('word', ' word'), event({ error: { message: 'overloaded', code: 500 } })),
  },
  break: {
    prompt: '/words 9 /cut 2',
    json: (call) => call.reset(),
    stream: (call) => {
      stream(call, ...pieces('word', ' word'));
      call.hangUp();
    },
  },
  // Late enough that a client can leave before, on a busy machine too.
  late: {
    prompt: '/delay 3s /words 2',
    json: (call) => void setTimeout(() => call.answer(200, completion('word word')), 3_000),
    stream: (call) => void setTimeout(() => stream(call, ...pieces('word', ' word'), DONE), 3_000),
  },
  silence: {
    prompt: '/words 9 /stall 2',
    json: () => {},
    stream: (call) => stream(call, ...pieces('word', ' word')),
  },
} satisfies Record<string, { prompt: string; json: Script; stream: Script }>;

function deltaChunk(delta: object): string {
  return event({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: null }],
  });
}

function toolChunk(call: object): string {
  return deltaChunk({ tool_calls: [{ index: 0, ...call }] });
}

/** Collects everything from an asynchronous sequence. */
export async function collected<T>(sequence: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of sequence) items.push(item);
  return items;
}

/** Starts both. The caller stops their gateways. */
export async function startHosts(): Promise<Host[]> {
  const models = { echo: { input: 1, output: 2, default_output: 100 } };
  const scripted = await startTestGateway({ provider: { models } });
  const mock = await startTestGateway({ config: { providers: { mock: { kind: 'mock', models } } } });
  return [
    { what: 'the mock', model: 'mock/echo', gateway: mock, prepare: (behaviour) => BEHAVIOURS[behaviour].prompt },
    {
      what: 'a host',
      model: 'fake/echo',
      gateway: scripted,
      prepare: (behaviour) => {
        const { prompt, json, stream } = BEHAVIOURS[behaviour];
        scripted.upstream.follow((call) => (JSON.parse(call.body).stream === true ? stream(call) : json(call)));
        return prompt;
      },
    },
  ];
}
