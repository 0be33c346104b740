/**
 * Recorded streams and answers of hosts: the official client libraries read the same in the original and in what
 * reaches a client of any dialect, and the meter reads the same usage.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Meter, type Metered } from '../../../src/relay/meter.ts';
import { runs } from '../../support/at-length.ts';
import { Random } from '../../support/random.ts';
import { countsOf } from '../../support/tools.ts';
import {
  ANSWERS,
  answered,
  CLIENTS,
  type Client,
  eventsOf,
  RECORDINGS,
  type Recording,
  type Relayed,
  relayed,
} from './recordings.ts';
import { ANSWER_READERS, READERS, type Reading, type Usage } from './sdk-readings.ts';

/** What a client of another dialect than the host's reads otherwise, since its dialect cannot say it. */
type Lost = Partial<Pick<Reading, 'text' | 'calls' | 'citations' | 'others' | 'seals'>>;

/** Places in a recording at which it breaks off. */
const MOST_BREAKS = runs(3);
const SEED = 1;

const NO_OTHERS: Lost = { others: [] };
const NO_CITATIONS: Lost = { citations: 0 };

/** Blocks of the host's own tools, of compaction and of fallbacks are left out, and so are citations. */
const LOST: Readonly<Record<string, Lost>> = {
  // A signature is kept for calls and beside thoughts.
  'gemini/text': { seals: [] },
  'messages/anthropic-compaction': NO_OTHERS,
  'messages/anthropic-fallback': NO_OTHERS,
  'messages/anthropic-fallback-a-toolrefusal': NO_OTHERS,
  'messages/anthropic-server-tool-use': { ...NO_OTHERS, ...NO_CITATIONS },
  'messages/langchain-citations': NO_CITATIONS,
  'messages/langchain-code-execution': NO_OTHERS,
  'messages/langchain-compaction-2': NO_OTHERS,
  'messages/langchain-programmatic-answer': NO_OTHERS,
  'messages/langchain-programmatic-call': NO_OTHERS,
  'messages/langchain-remote-mcp': NO_OTHERS,
  'messages/langchain-web-fetch': NO_OTHERS,
  'messages/langchain-web-search': { ...NO_OTHERS, ...NO_CITATIONS },
  'messages/pydantic-code-execution-whole': NO_OTHERS,
  'messages/pydantic-history-whole': NO_OTHERS,
};

/** Answers to several choices: no request that is translated asks for them. */
const NATIVE_ONLY: readonly string[] = ['chat/openai-choices'];

/** Calls whose arguments are no JSON, which the library of messages completes or refuses to read. */
const BROKEN_CALLS: Readonly<Record<string, RegExp>> = {
  'messages/anthropic-incomplete-partial-json': /^\{"filename": "taxes.txt", .*\n"Filing taxes$/s,
  'messages/anthropic-tool-use-invalid-json': /^\{"location": "Paris", "unit": celsius\}$/,
};

/** What is billed where it is more than the library reads: a pass of compaction beside the answer's own. */
const BILLED: Readonly<Record<string, Partial<Usage>>> = {
  'messages/langchain-compaction-2': { input: 83_555 + 224, output: 154 + 22 },
};

/** Calls of the host's own tools, which have prices. */
const TOOL_CALLS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'gemini/pydantic-code-execution-whole': { code_execution: 1 },
  'gemini/pydantic-search-whole': { google_search: 1 },
  'gemini/pydantic-url-context-whole': { url_context: 1 },
  'messages/anthropic-fallback-a-toolrefusal': { web_search: 1 },
  'messages/anthropic-message-delta-fields': { web_search: 1 },
  'messages/anthropic-server-tool-use': { web_search: 1 },
  'messages/langchain-code-execution': { code_execution: 1 },
  'messages/langchain-programmatic-call': { code_execution: 1 },
  'messages/langchain-web-fetch': { web_fetch: 1 },
  'messages/langchain-web-search': { web_search: 2 },
  'messages/pydantic-code-execution-whole': { code_execution: 1 },
  'messages/pydantic-history-whole': { code_execution: 1 },
  'responses/langchain-code-interpreter': { code_interpreter: 1 },
  'responses/pydantic-search-whole': { web_search: 1 },
};

/** Messages have a usage in any case. */
const NO_USAGE: Usage = { input: 0, cached: 0, written: 0, output: 0, reasoning: 0 };

/** The end of a recording may be missing, which the libraries do not forgive and the gateway does. */
const readOriginal = ({ host, bytes }: Recording) => READERS[host](`${bytes.toString('utf8')}\n\n`);

/** Thinking of hosts of chat is sealed by the name of its field, which the library reads as the thinking alone. */
const FIELD_OF_THINKING = /"(reasoning_content|reasoning)":\s?"[^"]/;

function sealsOf({ host, bytes }: Recording, { seals, thinking }: Reading): readonly string[] {
  if (host !== 'chat' || thinking === '') return seals;
  return [`chat.${FIELD_OF_THINKING.exec(bytes.toString('utf8'))?.[1]}`];
}

/** Google gives few calls an id; those of other dialects have one, by which their client answers. */
function withIds({ bytes }: Recording, calls: Reading['calls']): Reading['calls'] {
  const [, answer] = /"responseId":\s*"([^"]+)"/.exec(bytes.toString('utf8')) ?? [];
  return calls.map((call, index) => ({ ...call, id: call.id ?? `call_${answer}_${index}` }));
}

function expected(recording: Recording, client: Client, original: Reading): Reading {
  const { host, name } = recording;
  if (client === host) return original;
  const usage =
    original.usage === undefined
      ? client === 'messages'
        ? NO_USAGE
        : undefined
      : { ...original.usage, ...BILLED[name] };
  const calls = withIds(recording, original.calls);
  const read = { ...original, calls, seals: sealsOf(recording, original), ...LOST[name], usage };
  if (client === 'chat' || client === 'responses') return read;
  const inText = { ...read, text: read.text + read.refusal, refusal: '' };
  if (client === 'messages') return inText;
  // Nothing is cited there, and nothing says what was written to a cache.
  return { ...inText, citations: 0, usage: usage && { ...usage, written: 0 } };
}

function assertMetered({ name }: Recording, original: Reading, { usage, calls, source }: Metered): void {
  const { promptTokens, cachedTokens, completionTokens, parts } = usage;
  assert.deepEqual(countsOf({ usage, calls }), TOOL_CALLS[name] ?? {});
  assert.equal(source, original.usage === undefined ? 'counted' : 'reported');
  if (original.usage === undefined) return;
  const { reasoning: _, ...billed } = { ...original.usage, ...BILLED[name] };
  const written = (parts?.cacheWriteTokens ?? 0) + (parts?.cacheWrite1hTokens ?? 0);
  const metering = { input: promptTokens, cached: cachedTokens, written, output: completionTokens };
  assert.deepEqual(metering, billed);
}

/** The bytes in pieces, each of them a few hundred bytes long at most. */
function inPieces(bytes: Buffer, random: Random): Buffer[] {
  const pieces: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = start + random.between(1, 400);
    pieces.push(bytes.subarray(start, end));
    start = end;
  }
  return pieces;
}

/** Numbers below `end`, in even steps if there are many: the first and the last are among them. */
function sampled(end: number): number[] {
  const count = Math.min(end, MOST_BREAKS);
  return Array.from({ length: count }, (_, index) => Math.round((index * (end - 1)) / Math.max(1, count - 1)));
}

const withoutSample = ({ metered: { written: _, ...metered }, ...rest }: Relayed) => ({ ...rest, metered });

for (const recording of RECORDINGS) {
  const { host, name, bytes } = recording;
  const clients = CLIENTS[host].filter((client) => client === host || !NATIVE_ONLY.includes(name));
  describe(name, () => {
    for (const client of clients) {
      test(`says to ${client} what it says itself`, async () => {
        const received = await relayed(host, client, [bytes]);
        assert.equal(received.failure, undefined);
        if (name in BROKEN_CALLS) return;
        const original = await readOriginal(recording);
        assert.deepEqual(await READERS[client](received.text), expected(recording, client, original));
        assertMetered(recording, original, received.metered);
      });

      test(`becomes the same for ${client} however it is cut into pieces`, async () => {
        const whole = withoutSample(await relayed(host, client, [bytes]));
        const cuts = [eventsOf(bytes), inPieces(bytes, new Random(SEED))];
        for (const pieces of cuts) assert.deepEqual(withoutSample(await relayed(host, client, pieces)), whole);
      });

      test(`is an error or an answer for ${client} wherever it breaks off, and neither is read as the other`, async () => {
        const events = eventsOf(bytes);
        for (const length of sampled(events.length)) {
          const received = await relayed(host, client, [Buffer.concat(events.slice(0, length))]);
          if (received.failure === 'status' || name in BROKEN_CALLS) continue;
          const reading = READERS[client](received.text);
          if (received.failure === 'stream') await assert.rejects(reading, `after ${length} events`);
          else assert.notEqual((await reading).finish, undefined, `after ${length} events`);
        }
      });
    }
  });
}

for (const answer of ANSWERS) {
  describe(answer.name, () => {
    for (const client of CLIENTS[answer.host]) {
      test(`says to ${client} what it says itself`, async () => {
        const { text, facts } = answered(client, answer);
        const original = await ANSWER_READERS[answer.host](answer.bytes.toString('utf8'));
        assert.deepEqual(await ANSWER_READERS[client](text), expected(answer, client, original));
        const meter = new Meter(1);
        meter.readWhole(facts);
        assertMetered(answer, original, meter.figures());
      });
    }
  });
}

describe('a call whose arguments are no JSON', () => {
  for (const [name, json] of Object.entries(BROKEN_CALLS)) {
    for (const client of ['chat', 'responses'] as const) {
      test(`in ${name} reaches ${client} to the letter`, async () => {
        const { host, bytes } = RECORDINGS.find((each) => each.name === name) as Recording;
        const { calls } = await READERS[client]((await relayed(host, client, [bytes])).text);
        assert.match(String(calls[0]?.arguments), json);
      });
    }
  }
});

test('every row of what is lost is about a recording', () => {
  const names = new Set([...RECORDINGS, ...ANSWERS].map(({ name }) => name));
  const rows = [LOST, BROKEN_CALLS, BILLED, TOOL_CALLS].flatMap(Object.keys).concat(NATIVE_ONLY);
  assert.deepEqual(
    rows.filter((name) => !names.has(name)),
    [],
  );
  assert.ok(names.size >= 90);
});
