/** The speech dialect: `POST /v1/audio/speech`. Answers are audio, or events with pieces of audio. */
import { DIALECT_PATHS } from '../core/dialects.ts';
import type { HostTool } from '../core/host-tools.ts';
import { isObject } from '../core/json.ts';
import { type Unit, unitsOf } from '../core/units.ts';
import { NO_PARTS, type TokenUsage } from '../core/usage.ts';
import type { JsonBody } from '../wire/body.ts';
import { adtsSeconds } from '../wire/media/frames.ts';
import { soundLength } from '../wire/media/sound-length.ts';
import { type AnswerFacts, bytesOfBase64, mediaTokens, NO_FACTS, NO_OUTPUT } from './answer.ts';
import { audioBytesPerToken, SECONDS_PER_TOKEN } from './audio-output.ts';
import { number, serviceTier, text } from './checks.ts';
import type { Checked, Dialect, Fields, InputVisitor, ModelRequest, StreamReader } from './dialect.ts';
import { type FieldKinds, walkFields } from './input.ts';
import { typedStream } from './typed-stream.ts';
import { bodyProblem, checksWithoutText, requestWithoutText, WITHOUT_TEXT } from './without-text.ts';

export const SPEECH: Dialect = {
  ...WITHOUT_TEXT,
  name: 'speech',
  title: 'speech',
  path: DIALECT_PATHS.speech,
  answerFields: new Set(['type', 'audio', 'usage']),
  check: checkSpeech,
  walkInput,
  // A JSON answer contains no audio.
  readAnswer: () => NO_FACTS,
  readBytes: readSound,
  passesBytesOn: true,
  startStream: soundStream,
};

const CHECKS = checksWithoutText({
  input: (value) => (typeof value === 'string' && value !== '' ? undefined : 'input: expected a string'),
  instructions: text('instructions'),
  response_format: text('response_format'),
  speed: number('speed', 0.25, 4),
  stream_format: (value) =>
    value === undefined || value === 'sse' || value === 'audio' ? undefined : 'stream_format: expected sse or audio',
  service_tier: serviceTier,
});

/** The default output format. */
const USUAL_FORMAT = 'mp3';

function checkSpeech(body: JsonBody, model: string): Checked {
  const problem = bodyProblem(body, CHECKS);
  if (problem !== undefined) return problem;
  const { input, stream_format: streamed, response_format: format } = body.fields;
  return {
    ok: true,
    request: {
      ...requestWithoutText(SPEECH, body, model),
      stream: streamed === 'sse',
      asked: [{ modality: 'audio', field: 'input' }],
      audioBytesPerToken: audioBytesPerToken(format === 'pcm' ? 'pcm16' : (format ?? USUAL_FORMAT)),
      outputAt: ({ maxOutput = 0 }) => maxOutput,
      hostTools: unitsIn(input as string),
    },
  };
}

/** Counts the text in every unit, since hosts bill different ones. A price uses one of them. */
function unitsIn(input: string): HostTool[] {
  const counts: readonly (readonly [Unit, number])[] = [
    ['character', input.length],
    ['character_han_twice', pointsWithHanTwice(input)],
    ['byte', Buffer.byteLength(input)],
  ];
  return counts.map(([unit, count]) => unitsOf(unit, count, 'input'));
}

/** Counts code points, Han characters twice. Allocates nothing per character, since a text may fill a body. */
function pointsWithHanTwice(input: string): number {
  let count = 0;
  for (let at = 0; at < input.length; at++) {
    const point = input.codePointAt(at) ?? 0;
    if (point > LAST_OF_BMP) at++;
    count += isHan(point) ? 2 : 1;
  }
  return count;
}

const LAST_OF_BMP = 0xffff;
/** All Han characters lie in this range: Unicode reserves planes 2 and 3 for them. */
const FIRST_HAN = 0x2e80;
const BEHIND_HAN = 0x40000;
const HAN = /\p{Script=Han}/u;
const [NO, YES] = [1, 2];
/** Cached results by code point; 0 if not tested yet. The regular expression takes a hundred times as long. */
const known = new Uint8Array(BEHIND_HAN - FIRST_HAN);

function isHan(point: number): boolean {
  if (point < FIRST_HAN || point >= BEHIND_HAN) return false;
  const at = point - FIRST_HAN;
  if (known[at] === 0) known[at] = HAN.test(String.fromCodePoint(point)) ? YES : NO;
  return known[at] === YES;
}

const FIELDS: FieldKinds = {
  settings: new Set(['model', 'voice', 'response_format', 'speed', 'stream_format', 'user', 'service_tier']),
  unnamed: new Set(['input', 'instructions']),
  walked: new Set(),
};

function walkInput({ body: { fields } }: ModelRequest, visit: InputVisitor): number {
  walkFields(fields, FIELDS, visit);
  return 0;
}

/** Longer than any answer, so it counts as the whole hold. */
const UNKNOWN_SECONDS = 1_000_000;

/** Counts bare audio by its length, since it reports no tokens. The byte length of raw samples determines theirs. */
function readSound(sound: Buffer, { audioBytesPerToken: bytesPerToken, body: { fields } }: ModelRequest): AnswerFacts {
  const isRaw = fields.response_format === 'pcm';
  const seconds = isRaw ? undefined : (exactSeconds(sound) ?? UNKNOWN_SECONDS);
  const audioBytes = seconds === undefined ? sound.length : (seconds / SECONDS_PER_TOKEN) * bytesPerToken;
  return { ...NO_FACTS, choices: 1, progress: [{ ...NO_OUTPUT, index: 0, finished: true, audioBytes }] };
}

function exactSeconds(sound: Buffer): number | undefined {
  const length = soundLength(sound);
  return length?.isExact ? length.seconds : adtsSeconds(sound);
}

function soundStream(): StreamReader {
  const isLast = ({ type }: Fields) => type === 'speech.audio.done';
  return typedStream({
    isLast,
    read: (event) => {
      const finished = isLast(event);
      const progress = [{ ...NO_OUTPUT, index: 0, finished, audioBytes: bytesOfBase64(event.audio) }];
      return { ...NO_FACTS, usage: usageOf(event.usage), hasUsage: isObject(event.usage), progress };
    },
  });
}

function usageOf(usage: unknown): TokenUsage | undefined {
  const tokens = isObject(usage) ? mediaTokens(usage) : undefined;
  return tokens && { ...tokens, cachedTokens: 0, parts: { ...NO_PARTS, audioOutputTokens: tokens.completionTokens } };
}
