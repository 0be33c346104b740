/** Streams and answers as hosts have sent them, and what becomes of each on its way to a client. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import type { AnswerFacts } from '../../../src/dialects/answer.ts';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { FRAMES_TYPE } from '../../../src/providers/bedrock.ts';
import { Meter, type Metered } from '../../../src/relay/meter.ts';
import { relayStream } from '../../../src/relay/stream.ts';
import { hostRequest } from '../../../src/translate/translate.ts';
import type { ResponseTranslation } from '../../../src/translate/translation.ts';
import { Attempt } from '../../../src/upstream/attempt.ts';
import { decodeFrame } from '../../../src/upstream/aws.ts';
import { FrameDecoder } from '../../../src/upstream/frames.ts';
import { readJsonBody } from '../../../src/wire/body.ts';
import { MAX_EVENT_BYTES, SseSplitter } from '../../../src/wire/sse.ts';
import { CollectingSink } from '../../support/sink.ts';
import { UNBOUNDED } from '../../support/unbounded.ts';

/** The dialects of clients. */
export type Client = 'chat' | 'messages' | 'responses' | 'gemini';
/** Those of hosts. */
export type Speaker = Client | 'converse';

/** The dialects of the clients that can use a host. */
export const CLIENTS: Readonly<Record<Speaker, readonly Client[]>> = {
  chat: ['chat', 'messages', 'responses', 'gemini'],
  messages: ['messages', 'chat', 'responses', 'gemini'],
  responses: ['responses'],
  gemini: ['gemini', 'chat', 'messages', 'responses'],
  converse: ['chat', 'messages', 'responses', 'gemini'],
};

export interface Recording {
  /** The dialect of the host. */
  readonly host: Speaker;
  readonly name: string;
  readonly bytes: Buffer;
}

const FOLDER = new URL('../../fixtures/streams/', import.meta.url);

function recordingsOf(ending: string): readonly Recording[] {
  return (Object.keys(CLIENTS) as Speaker[]).flatMap((host) =>
    readdirSync(new URL(host, FOLDER))
      .filter((file) => file.endsWith(ending))
      .toSorted()
      .map((file) => ({
        host,
        name: `${host}/${file.slice(0, -ending.length)}`,
        bytes: asEvents(file, readFileSync(new URL(`${host}/${file}`, FOLDER))),
      })),
  );
}

/** What a stream is for the dialect of its host: frames of Amazon's stand for events. */
function asEvents(file: string, bytes: Buffer): Buffer {
  if (!file.endsWith('.frames')) return bytes;
  const decoder = new FrameDecoder(decodeFrame, false);
  decoder.head({ status: 200, contentType: FRAMES_TYPE, isEncoded: false, retryAfter: undefined }, {});
  const { bytes: events, failure } = decoder.push(bytes);
  assert.equal(failure, undefined);
  return events;
}

/** Streams. */
export const RECORDINGS = [...recordingsOf('.sse'), ...recordingsOf('.frames')];
/** Whole answers. */
export const ANSWERS = recordingsOf('.json');

const HELLO = [{ role: 'user', content: 'Hello' }];
/** What clients ask for: all that an answer can show. */
const REQUESTS: Readonly<Record<Client, Fields>> = {
  chat: { messages: HELLO, stream_options: { include_usage: true } },
  messages: { messages: HELLO, max_tokens: 2_000, thinking: { type: 'enabled', budget_tokens: 1_024 } },
  responses: { input: 'Hello' },
  gemini: {
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
    generationConfig: { thinkingConfig: { includeThoughts: true } },
  },
};
const MODEL = { maxOutput: 64_000, defaultOutput: 512, ignoreFields: [], ignoreTools: [] };
export const CONTEXT = { requestId: 'req_1', nowS: 1_700_000_000 };

/** Undefined where client and host speak the same. */
export function translationFor(client: Client, host: Speaker): ResponseTranslation | undefined {
  const text = JSON.stringify({ model: 'host/model', stream: true, ...REQUESTS[client] });
  const read = readJsonBody(Buffer.from(text));
  assert.ok(read.ok);
  const checked = DIALECTS[client].check(read.body, 'host/model');
  assert.ok(checked.ok);
  const result = hostRequest(checked.request, [host], MODEL);
  assert.ok(result.ok, result.ok ? '' : result.problem);
  return result.hosted.response;
}

/** What a client receives of a whole answer, and what the gateway reads in it. */
export function answered(client: Client, { host, bytes }: Recording): { text: string; facts: AnswerFacts } {
  const answer = JSON.parse(bytes.toString('utf8')) as Fields;
  const translated = translationFor(client, host)?.answer(answer, CONTEXT) ?? answer;
  return { text: JSON.stringify(translated), facts: DIALECTS[host].readAnswer(answer) };
}

/** What a client has received. */
export interface Relayed {
  readonly text: string;
  /** How it has failed: with an HTTP status in place of the stream, or at the end of what has come. */
  readonly failure: 'status' | 'stream' | undefined;
  readonly metered: Metered;
}

/** The input where a host reports none. */
const ESTIMATED_INPUT = 7;

/** Relays a stream that arrives in these pieces, and then ends. */
export async function relayed(host: Speaker, client: Client, pieces: readonly Buffer[]): Promise<Relayed> {
  const attempt = new Attempt();
  attempt.begin({ pause: () => {}, resume: () => {}, abort: () => {} });
  const sink = new CollectingSink();
  const ending = relayStream(attempt, sink, new Meter(ESTIMATED_INPUT, undefined, () => 0), {
    ...UNBOUNDED,
    dialect: DIALECTS[host],
    reader: DIALECTS[host].startStream(CONTEXT.requestId),
    translator: translationFor(client, host)?.stream(CONTEXT),
    showUsage: true,
    keepAliveMs: undefined,
  });
  for (const piece of pieces) {
    attempt.push(piece);
    await turn();
  }
  attempt.end();
  const { termination, metered } = await ending;
  if (termination.kind !== 'stream_end') return { text: '', failure: 'status', metered };
  const failure = termination.error === undefined ? undefined : 'stream';
  return { text: sink.text(termination.end), failure, metered };
}

/** The events of a stream, each with its blank line. */
export function eventsOf(bytes: Buffer): readonly Buffer[] {
  const splitter = new SseSplitter(MAX_EVENT_BYTES);
  const events = splitter.push(bytes);
  const rest = splitter.end();
  return [...events, ...(rest === undefined ? [] : [rest])].map((event) => event.bytes);
}
