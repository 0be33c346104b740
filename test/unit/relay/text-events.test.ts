/**
 * Events that differ from an earlier one in their text alone are not parsed: the client, the charge and the questions to the
 * ledger are the same as if each event were.
 */
import assert from 'node:assert/strict';
import { beforeEach, describe, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import type { Dialect, StreamReader } from '../../../src/dialects/dialect.ts';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { Meter, type Metered } from '../../../src/relay/meter.ts';
import type { Allowance } from '../../../src/relay/relay.ts';
import { MAX_IDLE_EVENTS, relayStream } from '../../../src/relay/stream.ts';
import { Attempt } from '../../../src/upstream/attempt.ts';
import type { Secrets } from '../../../src/wire/secrets.ts';
import { CollectingSink } from '../../support/sink.ts';
import { eventsOf, RECORDINGS } from '../translate/recordings.ts';

const CREDENTIAL = 'sk-upstream-0123456789';
const SECRETS: Secrets = {
  parts: [CREDENTIAL, 'api.host.example'],
  words: ['secrethost'],
  credentials: [CREDENTIAL],
  ofRequest: ['signature-0123456789'],
};

/** So no stream has to wait for another turn of the event loop, however busy the machine is. */
beforeEach((t) => {
  (t as TestContext).mock.method(performance, 'now', () => 0);
});

/** Grows with each question, as the allowance of a stream does, and records what had been written. */
class RecordingAllowance implements Allowance {
  askAt = -1;
  readonly audioWeight = 1;
  readonly imageWeight = 1;
  readonly excessTokens = 0;
  readonly asked: number[] = [];
  readonly #stepTokens: number;
  #calls = 0;

  constructor(stepTokens: number) {
    this.#stepTokens = stepTokens;
  }

  coversCalls(calls: readonly unknown[]): boolean {
    return calls.length <= this.#calls;
  }

  ask(meter: Meter): Promise<undefined> | undefined {
    const written = meter.outputTokens(this);
    this.#calls = meter.calls.length;
    this.asked.push(written);
    this.askAt = written + this.#stepTokens;
    return this.asked.length % 3 === 0 ? Promise.resolve(undefined) : undefined;
  }
}

interface Outcome {
  readonly received: string;
  readonly end: unknown;
  readonly metered: unknown;
  readonly asked: readonly number[];
  readonly judged: number;
}

function comparable({ written, ...figures }: Metered): unknown {
  return { ...figures, written: written && [written.tokens, written.tokensAtMost, written.sample()] };
}

interface Conditions {
  /** By how much the hold grows at a time. */
  readonly stepTokens: number;
  readonly secrets: Secrets;
}

const USUAL: Conditions = { stepTokens: 100_000, secrets: SECRETS };

/** Relays chunks. `isParsed`: parses every event. */
async function relayed(
  dialect: Dialect,
  chunks: readonly Buffer[],
  isParsed: boolean,
  { stepTokens, secrets }: Conditions,
): Promise<Outcome> {
  const attempt = new Attempt();
  const sink = new CollectingSink();
  const own = dialect.startStream('req_1');
  let judged = 0;
  const reader: StreamReader = {
    judge(event) {
      judged++;
      return own.judge(event);
    },
    failure: (error) => own.failure(error),
    completion: () => own.completion(),
    ...(!isParsed && own.textEventOf && { textEventOf: (event) => own.textEventOf?.(event) }),
  };
  let nowMs = 0;
  const allowance = new RecordingAllowance(stepTokens);
  const ending = relayStream(attempt, sink, new Meter(10, undefined, () => nowMs), {
    dialect,
    reader,
    translator: undefined,
    showUsage: false,
    secrets,
    choices: 1,
    allowance,
    keepAliveMs: undefined,
  });
  for (const chunk of chunks) {
    nowMs += 1_500;
    attempt.push(chunk);
    // Two questions may have to be answered before the next chunk is read.
    for (let i = 0; i < 20; i++) await null;
  }
  attempt.end();
  const { termination, metered, ...rest } = await ending;
  const end =
    termination.kind === 'stream_end' ? { ...termination, end: termination.end.toString('latin1') } : termination;
  const received = Buffer.concat(sink.received).toString('latin1');
  return { received, end: { end, ...rest }, metered: comparable(metered), asked: allowance.asked, judged };
}

async function assertSame(
  dialect: Dialect,
  chunks: readonly Buffer[],
  conditions = USUAL,
): Promise<{ judged: number; parsed: number }> {
  const { judged: parsed, ...exact } = await relayed(dialect, chunks, true, conditions);
  const { judged, ...found } = await relayed(dialect, chunks, false, conditions);
  assert.deepEqual(found, exact);
  return { judged, parsed };
}

/** The JSON of a string, as a host may write it. */
const textJson = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom(' word', 'a', '漢字', '🚀', ' é') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', '\\n', '\\"', '\\\\', '\\u0041', '\\ud83d', '\\q', '"', '\\', '\t', '\u0000'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      CREDENTIAL,
      `x${CREDENTIAL}y`,
      'signature-0123456789',
      'secrethost',
      '\\u0073k-upstream-0123456789',
    ),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 60 }).map((text) => JSON.stringify(text).slice(1, -1)) },
  { weight: 1, arbitrary: fc.constantFrom('x'.repeat(300), '", "x": "', 'a","finish_reason":"stop', '\\ud83d\\ude00') },
);
const numberJson = fc.oneof(
  { weight: 15, arbitrary: fc.nat().map(String) },
  { weight: 1, arbitrary: fc.constantFrom('0', '01', '-1', '1e3', '1.5', '', 'null', '12345678901234567890', '"7"') },
);

const CHAT_FORMS = (text: string, number: string, padding: string) => ({
  text: `{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":null}]}`,
  padded: `{"id":"c","choices":[{"index":0,"delta":{"content":"${text}"}}],"usage":null,"obfuscation":"${padding}"}`,
  thought: `{"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"${text}"}}]}`,
  both: `{"choices":[{"index":0,"delta":{"content":"${text}","reasoning":"${padding}"}}]}`,
  twice: `{"choices":[{"index":0,"delta":{"content":"${padding}","content":"${text}"}}]}`,
  details: `{"choices":[{"index":0,"delta":{"reasoning":"${text}","reasoning_details":[{"text":"${text}"}]}}]}`,
  call: `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"${text}"}}]}}]}`,
  parts: `{"choices":[{"delta":{"content":[{"text":"${padding}"}],"tool_calls":[{"function":{"arguments":"${text}"}}]}}]}`,
  named: `{"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"name":"${padding}","arguments":"${text}"}}]}}]}`,
  other: `{"choices":[{"index":${number || 1},"delta":{"content":"${text}"}}]}`,
  two: `{"choices":[{"index":0,"delta":{"content":"${text}"}},{"index":1,"delta":{"content":"${text}"}}]}`,
  old: `{"choices":[{"index":0,"text":"${text}"}]}`,
  tier: `{"service_tier":"${padding}","choices":[{"index":0,"delta":{"content":"${text}"}}]}`,
  usage: `{"choices":[{"index":0,"delta":{"content":"${text}"}}],"usage":{"prompt_tokens":9,"completion_tokens":${number}}}`,
  report: `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":${number}},"service_tier":"${padding}"}`,
  stop: `{"choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":"stop"}]}`,
  provider: `{"provider":"${padding}","choices":[{"index":0,"delta":{"content":"${text}"}}]}`,
  error: `{"error":"${padding}","choices":[{"index":0,"delta":{"content":"${text}"}}]}`,
  broken: `{"choices":[{"index":0,"error":"${padding}","delta":{"content":"${text}"}}]}`,
});

const MESSAGES_FORMS = (text: string, number: string, padding: string) => ({
  text: `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}`,
  json: `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"${text}"}}`,
  thought: `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"${text}"}}`,
  estimated: `{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"${text}","estimated_tokens":${number}}}`,
  signature: `{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"${'QUJD'.repeat(30)}"}}`,
  citation: `{"type":"content_block_delta","delta":{"type":"citations_delta","citation":{"cited_text":"${text}"}}}`,
  foreign: `{"type":"content_block_delta","host":"${padding}","delta":{"type":"text_delta","text":"${text}","x":"${padding}"}}`,
  begin: `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"${text}"}}`,
  usage: `{"type":"message_delta","delta":{"stop_reason":"${padding}"},"usage":{"output_tokens":${number}}}`,
  other: `{"type":"ping"}`,
});

const RESPONSES_FORMS = (text: string, number: string, padding: string) => ({
  text: `{"type":"response.output_text.delta","sequence_number":${number},"output_index":0,"delta":"${text}","obfuscation":"${padding}"}`,
  plain: `{"type":"response.output_text.delta","output_index":0,"delta":"${text}"}`,
  thought: `{"type":"response.reasoning_text.delta","sequence_number":${number},"output_index":1,"delta":"${text}"}`,
  call: `{"type":"response.function_call_arguments.delta","output_index":1,"delta":"${text}"}`,
  audio: `{"type":"response.audio.delta","delta":"${text}"}`,
  done: `{"type":"response.output_text.done","output_index":0,"text":"${text}${text}${text}"}`,
  item: `{"type":"response.output_item.done","output_index":0,"item":{"content":[{"type":"output_text","text":"${text}${padding}"}]}}`,
  foreign: `{"type":"response.output_text.delta","output_index":0,"delta":"${text}","host":"${padding}"}`,
  failed: `{"type":"response.output_text.delta","error":"${padding}","delta":"${text}"}`,
});

type Forms = (text: string, number: string, padding: string) => Readonly<Record<string, string>>;

/** Streams of runs of one form: a form that is repeated is one that is compared. */
function streamOf(forms: Forms, isNamed: boolean): fc.Arbitrary<Buffer[]> {
  const names = Object.keys(forms('', '', ''));
  const ending = fc.oneof(
    { weight: 20, arbitrary: fc.constant('\n\n') },
    {
      weight: 1,
      arbitrary: fc.constantFrom('\n\n\n', '\r\n\r\n', '\n', '\r\r', '\n\n: ping\n\n', '\n\ndata:\n\n', '\nid: 1\n\n'),
    },
  );
  const event = fc.record({ text: textJson, number: numberJson, padding: textJson, ending });
  const head = fc.oneof(
    { weight: 10, arbitrary: fc.constant('data: ') },
    {
      weight: 1,
      arbitrary: fc.constantFrom('data:', ': c\ndata: ', 'event: error\ndata: ', '\ufeffdata: ', 'data: \ndata: '),
    },
  );
  const run = fc.tuple(
    fc.constantFrom(...names.slice(0, 3), ...names),
    head,
    fc.array(event, { minLength: 1, maxLength: 12 }),
  );
  const bytes = fc.array(run, { minLength: 1, maxLength: 5 }).map((runs) => {
    const events = runs.flatMap(([name, head, each]) =>
      each.map(({ text, number, padding, ending }) => {
        const json = forms(text, number, padding)[name] as string;
        const named = isNamed && head === 'data: ' ? `event: ${/"type":"([^"]*)"/.exec(json)?.[1]}\n` : '';
        return `${named}${head}${json}${ending}`;
      }),
    );
    return Buffer.from(events.join(''));
  });
  const cuts = fc.array(fc.tuple(fc.nat(), fc.boolean()), { maxLength: 12 });
  const faults = fc.array(fc.tuple(fc.nat(), fc.constantFrom(0x80, 0xff, 0xc3, 0x0a, 0x0d, 0x22, 0x5c)), {
    maxLength: 1,
  });
  return fc.tuple(bytes, cuts, faults, fc.boolean()).map(([whole, at, changed, isFaulty]) => {
    if (isFaulty) for (const [place, byte] of changed) whole[place % whole.length] = byte;
    return chunksOf(whole, at);
  });
}

/** Cuts behind events, or anywhere. */
function chunksOf(whole: Buffer, cuts: readonly (readonly [number, boolean])[]): Buffer[] {
  const places = cuts.map(([place, isAnywhere]) => {
    const at = place % (whole.length + 1);
    const end = isAnywhere ? -1 : whole.indexOf('\n\n', at);
    return end < 0 ? at : end + 2;
  });
  const sorted = [0, ...new Set(places), whole.length].toSorted((a, b) => a - b);
  return sorted.slice(1).flatMap((end, i) => (end > (sorted[i] as number) ? [whole.subarray(sorted[i], end)] : []));
}

const ROWS: readonly {
  readonly name: 'chat' | 'messages' | 'responses';
  readonly forms: Forms;
  readonly isNamed: boolean;
}[] = [
  { name: 'chat', forms: CHAT_FORMS, isNamed: false },
  { name: 'messages', forms: MESSAGES_FORMS, isNamed: true },
  { name: 'responses', forms: RESPONSES_FORMS, isNamed: true },
];

describe('streams are read as if every event were parsed', () => {
  for (const { name, forms, isNamed } of ROWS) {
    test(`${name}: random and hostile events, cut anywhere`, async () => {
      const dialect = DIALECTS[name];
      let saved = 0;
      await fc.assert(
        fc.asyncProperty(streamOf(forms, isNamed), fc.constantFrom(12, 200, 100_000), async (chunks, stepTokens) => {
          const { judged, parsed } = await assertSame(dialect, chunks, { ...USUAL, stepTokens });
          saved += parsed - judged;
        }),
        { numRuns: 200 },
      );
      assert.ok(saved > 50, `only ${saved} events were not parsed`);
    });
  }

  for (const recording of RECORDINGS) {
    test(`recorded: ${recording.name}`, async () => {
      await assertSame(DIALECTS[recording.host], eventsOf(recording.bytes));
      await assertSame(DIALECTS[recording.host], [recording.bytes]);
    });
  }
});

const TEXTS = [
  ' word',
  '',
  '\\n',
  '\\"',
  '\\u0041',
  '\\ud83d',
  '\\q',
  '"',
  '\\',
  '\t',
  '漢字',
  '🚀',
  CREDENTIAL,
  `a${CREDENTIAL}b`,
  '\\u0073k-upstream-0123456789',
];
const NUMBERS = ['7', '8', '0', '01', '-1', '1e3', '1.5', '', 'null', '12345678901234567890', '"7"'];
/** What may come before an event, as a chunk of its own. */
const REMNANTS = ['data: x\n', ': c\n', '\n', '\r', 'event: error\n', 'data: {"choices":[]}\r\n\r'];

describe('behind an event of each form, every other one is read as if it were parsed', () => {
  for (const { name, forms, isNamed } of ROWS) {
    for (const form of Object.keys(forms('', '', ''))) {
      test(`${name}: ${form}`, async () => {
        const of = (text: string, number = '7', padding = 'pad', other = form) => {
          const json = forms(text, number, padding)[other] as string;
          const named = isNamed ? `event: ${/"type":"([^"]*)"/.exec(json)?.[1]}\n` : '';
          return Buffer.from(`${named}data: ${json}\n\n`);
        };
        const tails = [
          ...TEXTS.flatMap((text) => [[of(text)], [of(' word', '7', text)]]),
          ...NUMBERS.map((number) => [of(' word', number)]),
          ...REMNANTS.map((remnant) => [Buffer.from(remnant), of(' word')]),
          ...Object.keys(forms('', '', '')).map((other) => [of(' word', '7', 'pad', other)]),
        ];
        for (const first of ['one', '']) {
          for (const tail of tails) await assertSame(DIALECTS[name], [of(first), of('two'), ...tail, of('three')]);
        }
      });
    }
  }

  test('an event without text is no progress', async () => {
    const of = (text: string) => `data: ${CHAT_FORMS(text, '', '').text}\n\n`;
    const { judged } = await assertSame(DIALECTS.chat, [
      ...['a', 'b', 'c'].map((text) => Buffer.from(of(text))),
      Buffer.from(of('').repeat(MAX_IDLE_EVENTS + 1)),
    ]);
    assert.ok(judged > MAX_IDLE_EVENTS);
  });
});

describe('of events that differ in their text alone', () => {
  const words = Array.from({ length: 200 }, (_, index) => ` word${index % 7}`);

  for (const { name, forms, isNamed } of ROWS) {
    test(`${name}: hardly any is parsed`, async () => {
      for (const form of Object.keys(forms('', '', '')).slice(0, 3)) {
        const chunks = words.map((word, index) => {
          const json = forms(word, String(index), 'x'.repeat(index % 9))[form] as string;
          return Buffer.from(
            `${isNamed ? `event: ${(JSON.parse(json) as { type: string }).type}\n` : ''}data: ${json}\n\n`,
          );
        });
        const whole = Buffer.concat(chunks);
        const cut = Array.from({ length: Math.ceil(whole.length / 1_000) }, (_, i) =>
          whole.subarray(1_000 * i, 1_000 * (i + 1)),
        );
        for (const arrival of [chunks, [whole], cut]) {
          const { judged, parsed } = await assertSame(DIALECTS[name], arrival);
          assert.equal(parsed, words.length);
          assert.ok(judged < words.length / 10, `${form}: ${judged} were parsed`);
        }
      }
    });
  }

  test('all are parsed where a credential could extend beyond a string', async () => {
    const chunks = words.map((word) => Buffer.from(`data: ${CHAT_FORMS(word, '', '').text}\n\n`));
    const secrets = { ...SECRETS, credentials: ['word","x":"0123456789'] };
    const { judged } = await assertSame(DIALECTS.chat, chunks, { ...USUAL, secrets });
    assert.equal(judged, words.length);
  });
});
