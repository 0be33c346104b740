/** The mock provider: simulates the responses and failures of a host without network. Pure. */
import type { MOCK_DIALECTS } from '../../core/dialects.ts';
import { objectOf } from '../../core/json.ts';
import { counted } from '../../core/plural.ts';
import type { ModelRequest } from '../../dialects/dialect.ts';
import { inputParts, tokensAt } from '../../dialects/input.ts';
import type { Answer, MockContext, MockDialect, MockUsage, Part, StreamWriter } from './answer.ts';
import { CHAT_MOCK } from './chat.ts';
import { DIRECTIVES, type Directives, readDirectives } from './directives.ts';
import { EMBEDDINGS_MOCK } from './embeddings.ts';
import { IMAGES_MOCK } from './images.ts';
import { MODERATIONS_MOCK } from './moderations.ts';
import type { MockTool, Reading } from './reading.ts';
import { RERANK_MOCK } from './rerank.ts';
import { sampleOf } from './sample.ts';
import { SPEECH_MOCK } from './speech.ts';
import { TRANSCRIPTIONS_MOCK } from './transcriptions.ts';

export type { MockContext } from './answer.ts';

/** A step of a response: a delay, then bytes, then optionally a dropped connection or permanent silence. */
export interface Step {
  readonly afterMs: number;
  readonly bytes?: string | Buffer;
  readonly ending?: 'break' | 'silence';
}

/** A response as a sequence of steps. */
export interface Script {
  readonly status: number;
  readonly contentType: string;
  /** Delay of the response headers, in milliseconds. */
  readonly delayMs: number;
  readonly steps: Iterable<Step>;
}

export type MockedDialect = (typeof MOCK_DIALECTS)[number];

const DIALECTS: Readonly<Record<MockedDialect, MockDialect>> = {
  chat: CHAT_MOCK,
  embeddings: EMBEDDINGS_MOCK,
  images: IMAGES_MOCK,
  image_edits: IMAGES_MOCK,
  speech: SPEECH_MOCK,
  transcriptions: TRANSCRIPTIONS_MOCK,
  translations: TRANSCRIPTIONS_MOCK,
  moderations: MODERATIONS_MOCK,
  rerank: RERANK_MOCK,
};

function mockOf({ dialect }: ModelRequest): MockDialect {
  return DIALECTS[dialect.name as MockedDialect];
}

/** Returns the id prefix of responses. */
export function mockIdPrefix(request: ModelRequest): string {
  return mockOf(request).idPrefix;
}

/** Returns the response to a request. */
export function mockScript(request: ModelRequest, context: MockContext): Script {
  const dialect = mockOf(request);
  const reading = dialect.read(request.body.fields);
  const directives = readDirectives(reading.prompt);
  const { delayMs } = directives;
  const error = errorOf(reading, directives);
  if (error !== undefined) {
    const bytes = dialect.errorBody(error.status, error.message, context);
    return { status: error.status, contentType: 'application/json', delayMs, steps: [{ afterMs: 0, bytes }] };
  }
  const writesText = dialect.startStream !== undefined;
  const answer = compose({ request, context, reading, directives, writesText });
  if (request.stream && dialect.startStream !== undefined) {
    const steps = streamSteps(answer, directives, dialect.startStream(answer));
    return { status: 200, contentType: 'text/event-stream', delayMs, steps };
  }
  const steps = [wholeStep(answer, directives, dialect.wholeBody(answer))];
  return { status: 200, contentType: dialect.contentType ?? 'application/json', delayMs, steps };
}

function errorOf(reading: Reading, { errorStatus: status }: Directives) {
  if (status !== undefined) {
    return { status, message: `The mock provider responded with status ${status}, as the prompt asked.` };
  }
  return reading.problem === undefined ? undefined : { status: 400, message: reading.problem };
}

interface Composition {
  readonly request: ModelRequest;
  readonly context: MockContext;
  readonly reading: Reading;
  readonly directives: Directives;
  readonly writesText: boolean;
}

function compose({ request, context, reading, directives, writesText }: Composition): Answer {
  const call = writesText ? callOf(reading, directives) : undefined;
  const allThinking = writesText ? wordsOf(directives.thinking ?? 0, 'thought') : [];
  const allWords =
    writesText && call === undefined
      ? (jsonPieces(reading) ?? wordsOf(directives.words ?? textOf(reading, directives), 'word'))
      : [];
  // Without a limit in the request, the length is unlimited here, too.
  const maximum = (request.outputAt === undefined ? request.maxOutput : undefined) ?? Number.POSITIVE_INFINITY;
  const thinking = allThinking.slice(0, maximum);
  const words = allWords.slice(0, maximum - thinking.length);
  const isCut = thinking.length < allThinking.length || words.length < allWords.length;
  const parts: Part[] = [
    { kind: 'thinking', pieces: thinking } as const,
    { kind: 'text', pieces: words } as const,
    ...(call === undefined || isCut ? [] : [call]),
  ].filter(({ kind, pieces }) => kind === 'call' || pieces.length > 0);
  return {
    request,
    context,
    parts,
    ending: isCut ? 'length' : call === undefined ? 'stop' : 'call',
    usage: directives.reportUsage ? usageOf(request, parts, directives) : undefined,
  };
}

/** Returns the next tool call directed by the prompt or forced by `tool_choice`, if the request has that tool. */
function callOf(
  { tools, results, choice = { kind: 'auto' } }: Reading,
  { calls, callTool }: Directives,
): Part | undefined {
  const { names } = choice;
  if (choice.kind === 'none') return undefined;
  const callable = tools.filter(({ kind, name }) => kind !== 'host' && (names === undefined || names.includes(name)));
  const next = calls[results];
  if (next !== undefined) {
    const tool = callable.find(({ name }) => name === next.name);
    if (tool !== undefined) return { kind: 'call', tool, pieces: piecesOf(argumentsOf(tool, next.argumentsJson)) };
  }
  const [first] = callable;
  const isCalled = first !== undefined && (choice.kind === 'any' || (callTool && next === undefined));
  return isCalled ? { kind: 'call', tool: first, pieces: sampleArguments(first) } : undefined;
}

/** Returns valid arguments for a tool. */
function sampleArguments({ kind, schema }: MockTool): string[] {
  if (kind === 'custom') return ['text'];
  const sample = sampleOf(schema ?? { type: 'object' });
  return jsonPiecesOf(objectOf(sample));
}

/** Returns the response to a request for JSON output. */
function jsonPieces({ json }: Reading): string[] | undefined {
  return json && jsonPiecesOf(sampleOf(json.schema) ?? {});
}

/** Splits JSON into small pieces, similar to the deltas of real hosts. */
function jsonPiecesOf(value: unknown): string[] {
  return JSON.stringify(value).split(/(?<=[,:{[])(?![}\]]|$)/);
}

/** Custom tools take plain text, given in the field `input`. */
function argumentsOf({ kind }: MockTool, json: string): string {
  const { input } = JSON.parse(json) as Readonly<Record<string, unknown>>;
  return kind === 'custom' && typeof input === 'string' ? input : json;
}

/** Token estimates for attachments. The figure for images is typical of one megapixel. */
const TERMS = { imageTokens: 1_600, maxSeconds: 36_000, remoteFiles: false, contextWindow: undefined };

function usageOf(request: ModelRequest, parts: readonly Part[], directives: Directives): MockUsage {
  const count = (counted: readonly Part[]) => counted.reduce((sum, { pieces }) => sum + pieces.length, 0);
  const input = tokensAt(inputParts(request), TERMS);
  const cacheRead = Math.min(directives.cacheReadTokens, input);
  return {
    input,
    cacheRead,
    cacheWrite: Math.min(directives.cacheWriteTokens, input - cacheRead),
    output: Math.max(1, count(parts)) * request.choices,
    reasoning: count(parts.filter(({ kind }) => kind === 'thinking')) * request.choices,
  };
}

/** Splits a text into words, or returns `text` copies of `word`. Each word includes its preceding space. */
function wordsOf(text: string | number, word: string): string[] {
  if (typeof text === 'string') return piecesOf(text);
  return Array.from({ length: text }, (_, position) => (position === 0 ? word : ` ${word}`));
}

function piecesOf(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\S)(?=\s)/);
}

function textOf({ prompt, messages, tools }: Reading, { help }: Directives): string {
  if (help) {
    const lines = DIRECTIVES.map(([usage, meaning]) => `${usage}: ${meaning}`);
    return `I am the mock provider. Put any of these into your last message:\n${lines.join('\n')}`;
  }
  const received = `${counted(messages, 'message')}, ${counted(tools.length, 'tool')}`;
  return `You said: ${prompt === '' ? '(nothing)' : prompt}\n(The mock provider received ${received}. Say /help for what else it does.)`;
}

function wholeStep(
  { parts }: Answer,
  { paceMs, cutAfter, failAfter, stallAfter }: Directives,
  body: string | Buffer,
): Step {
  const afterMs = paceMs * parts.reduce((sum, { pieces }) => sum + pieces.length, 0);
  if ((cutAfter ?? failAfter ?? stallAfter) === undefined) return { afterMs, bytes: body };
  const ending = stallAfter === undefined ? 'break' : 'silence';
  return {
    afterMs,
    bytes: typeof body === 'string' ? body.slice(0, body.length >> 1) : body.subarray(0, body.length >> 1),
    ending,
  };
}

function* streamSteps(answer: Answer, directives: Directives, writer: StreamWriter): Generator<Step> {
  yield { afterMs: 0, bytes: writer.start() };
  let written = 0;
  // Events between words are sent with the next word.
  let pending = '';
  for (const part of answer.parts) {
    pending += writer.open(part);
    for (const piece of part.pieces) {
      const stop = stopAt(written, directives, writer);
      if (stop !== undefined) return yield stop;
      yield { afterMs: written === 0 ? 0 : directives.paceMs, bytes: pending + writer.piece(part, piece) };
      pending = '';
      written++;
    }
    pending += writer.close(part);
  }
  const stop = stopAt(written, directives, writer);
  if (stop !== undefined) return yield stop;
  yield { afterMs: 0, bytes: pending + writer.end() };
}

/** Returns the failure directed by the prompt after this number of words, if any. */
function stopAt(
  words: number,
  { cutAfter, failAfter, stallAfter }: Directives,
  writer: StreamWriter,
): Step | undefined {
  if (cutAfter === words) return { afterMs: 0, ending: 'break' };
  if (stallAfter === words) return { afterMs: 0, ending: 'silence' };
  if (failAfter !== words) return undefined;
  return { afterMs: 0, bytes: writer.failure('The mock provider failed mid-stream, as the prompt asked.') };
}
