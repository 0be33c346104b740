/** The transcription dialects: `POST /v1/audio/transcriptions`, and `/v1/audio/translations`, which returns English. */
import { DIALECT_PATHS } from '../core/dialects.ts';
import { isObject, objectOf } from '../core/json.ts';
import type { ModelTerms } from '../core/model-terms.ts';
import { printableName } from '../core/printable.ts';
import { type Unit, unitName, unitsOf } from '../core/units.ts';
import { MAX_REPORTED_TOKENS, NO_PARTS, type TokenUsage } from '../core/usage.ts';
import type { JsonBody } from '../wire/body.ts';
import { beginsAsSound } from '../wire/media/kind.ts';
import type { SoundLength } from '../wire/media/mp4.ts';
import { soundLength } from '../wire/media/sound-length.ts';
import { type AnswerFacts, countOf, mediaTokens, NO_FACTS, NO_OUTPUT } from './answer.ts';
import { mostSeconds } from './attachments.ts';
import { flag, serviceTier } from './checks.ts';
import type { Checked, Dialect, Fields, InputVisitor, ModelRequest, StreamReader } from './dialect.ts';
import { USER_FIELDS_OF_FORM } from './end-user.ts';
import { filesIn, misplacedFile, typedForm } from './form.ts';
import { type FieldKinds, walkFields } from './input.ts';
import { FORMATS, formatFor, formatOf, renderTranscript } from './transcript-formats.ts';
import { typedStream } from './typed-stream.ts';
import { bodyProblem, checksWithoutText, requestWithoutText, WITHOUT_TEXT } from './without-text.ts';

const SECOND: Unit = 'second';

export const TRANSCRIPTIONS = dialectOf('transcriptions');
export const TRANSLATIONS = dialectOf('translations');

function dialectOf(name: 'transcriptions' | 'translations'): Dialect {
  const dialect: Dialect = {
    ...WITHOUT_TEXT,
    name,
    title: name,
    path: DIALECT_PATHS[name],
    isForm: true,
    mayIgnoreStream: true,
    answerFields: new Set(
      'text task language languages duration segments words usage logprobs type delta segment_id id start end speaker'.split(
        ' ',
      ),
    ),
    check: (form, model) => checkForm(dialect, form, model),
    forModel,
    walkInput,
    readAnswer,
    startStream: transcriptStream,
  };
  return dialect;
}

const UNSEEN = 'this gateway cannot see what is there; send the file itself';

const CHECKS = checksWithoutText({
  stream: flag('stream'),
  response_format: (value, fields) =>
    value === undefined || formatOf(fields) ? undefined : `response_format: expected one of ${FORMATS.join(', ')}`,
  'timestamp_granularities[]': (value, { response_format: format }) =>
    value === undefined || !WITHOUT_TIMES.has(format)
      ? undefined
      : 'timestamp_granularities[]: expected verbose_json as the response_format beside it',
  service_tier: serviceTier,
});
const WITHOUT_TIMES: ReadonlySet<unknown> = new Set(['text', 'srt', 'vtt']);
const TYPED: ReadonlySet<string> = new Set(['stream']);
const FILES: readonly string[] = ['file'];
const FILE_NAMES: ReadonlySet<string> = new Set(FILES);

function checkForm(dialect: Dialect, form: JsonBody, model: string): Checked {
  const body = typedForm(form, TYPED);
  const problem = bodyProblem(body, CHECKS);
  if (problem !== undefined) return problem;
  const misplaced =
    body.fields.file === undefined
      ? 'file: expected a file'
      : (misplacedFile(body.fields, FILE_NAMES) ?? elsewhere(body.fields));
  if (misplaced !== undefined) return { ok: false, problem: misplaced };
  const length = lengthOf(body.fields);
  if (length === undefined) return { ok: false, problem: UNKNOWN_LENGTH };
  const request: TranscriptRequest = {
    ...requestWithoutText(dialect, body, model),
    stream: body.fields.stream === true,
    length,
    outputAt: outputFor(length),
    hostTools: secondsIn(length.seconds),
  };
  return { ok: true, request };
}

/** Returns the problem with the first unknown field that references more audio, whose length is unknown. */
function elsewhere(fields: Fields): string | undefined {
  const isKnown = (name: string) => [FIELDS.settings, FIELDS.unnamed, FIELDS.walked].some((names) => names.has(name));
  const [name] =
    Object.entries(fields).find(
      ([name, value]) => !isKnown(name) && (NAMES_PLACE.test(name) || [value].flat().some(isAddress)),
    ) ?? [];
  return name && `${printableName(name)}: ${UNSEEN}`;
}

const NAMES_PLACE = /(?:ur[il]|file_?id)s?(?:\[\])?$/i;

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^\s*[a-z][a-z0-9+.-]{1,30}:\S/i.test(value);
}

const UNKNOWN_LENGTH = 'file: it does not begin as a format of audio; send WAV, MP3, FLAC, Ogg, WebM, M4A or MP4';

/** Returns the units of a request. Their number must be finite. */
function secondsIn(seconds: number): ModelRequest['hostTools'] {
  return [unitsOf(SECOND, Math.min(Math.ceil(seconds), Number.MAX_SAFE_INTEGER), 'file')];
}

/** Caches the audio length, which takes a scan of the file. */
interface TranscriptRequest extends ModelRequest {
  readonly length: SoundLength;
}

/** Requests a format that reports the usage, and converts the answer to the client's format. */
function forModel(request: ModelRequest, model: ModelTerms): Checked {
  const { body, stream, length } = request as TranscriptRequest;
  const own = { ...request, hostTools: secondsIn(mostSeconds(length, model)) };
  const wanted = formatOf(body.fields);
  const { call: secondNanos = 0n } = model.tools.get(unitName(SECOND)) ?? {};
  const billing = { upstream: model.upstream, isBySecond: secondNanos > 0n, isExact: length.isExact };
  const asked = formatFor(wanted, billing);
  if ('problem' in asked) return { ok: false, problem: asked.problem };
  if (asked.format === undefined) return { ok: true, request: own };
  // Hosts cannot stream verbose JSON. The last event of a stream reports the usage.
  const value = stream && wanted === 'text' ? 'json' : asked.format;
  const render = (answer: Fields) => renderTranscript(answer, wanted);
  return { ok: true, request: { ...own, hostField: { name: 'response_format', value }, render } };
}

/** Maximum length of a speaker sample. */
const SECONDS_OF_SAMPLE = 10;

const UNKNOWN: SoundLength = { seconds: Number.POSITIVE_INFINITY, isExact: false };

/** Returns the audio length; undefined if the file is not audio. */
function lengthOf(fields: Fields): SoundLength | undefined {
  const samples = fields['known_speaker_references[]'];
  const sampled = Array.isArray(samples) ? samples.length * SECONDS_OF_SAMPLE : 0;
  const [file] = filesIn(fields, FILES);
  const length = file && (soundLength(file.bytes) ?? (beginsAsSound(file.bytes) ? UNKNOWN : undefined));
  return length && { ...length, seconds: length.seconds + sampled };
}

/** Upper bound of speech, in tokens per second. Fast English has four. */
const MOST_TOKENS_PER_SECOND = 20;

function outputFor(length: SoundLength): NonNullable<ModelRequest['outputAt']> {
  return (model) => {
    const { isWithoutTokenPrices, maxOutput, defaultOutput } = model;
    if (isWithoutTokenPrices) return 0;
    return maxOutput ?? Math.max(defaultOutput, Math.ceil(mostSeconds(length, model) * MOST_TOKENS_PER_SECOND));
  };
}

const FIELDS: FieldKinds = {
  settings: new Set([
    ...['model', 'response_format', 'stream', 'temperature', 'language', 'languages[]', 'timestamp_granularities[]'],
    ...['include[]', 'chunking_strategy', 'known_speaker_references[]', 'service_tier', ...USER_FIELDS_OF_FORM],
  ]),
  unnamed: new Set(['prompt', 'keywords[]', 'known_speaker_names[]']),
  walked: FILE_NAMES,
};

function walkInput(request: ModelRequest, visit: InputVisitor): number {
  walkFields(request.body.fields, FIELDS, visit);
  visit.attachment({ kind: 'audio', ...(request as TranscriptRequest).length });
  return 0;
}

function readAnswer({ text: written, usage, duration }: Fields): AnswerFacts {
  const reported = usageOf(usage) ?? secondsAsUsage(isObject(usage) ? undefined : duration);
  const facts = readText(written);
  return { ...facts, usage: reported, hasUsage: isObject(usage) || reported !== undefined };
}

/** Reads a transcript without usage. The gateway counts its tokens. */
function readText(written: unknown): AnswerFacts {
  if (typeof written !== 'string') return NO_FACTS;
  return { ...NO_FACTS, choices: 1, progress: [{ ...NO_OUTPUT, index: 0, finished: true, written: [written] }] };
}

/** Reads usage in tokens or in seconds of audio. */
function usageOf(usage: unknown): TokenUsage | undefined {
  if (!isObject(usage)) return undefined;
  if (usage.type === 'duration' || usage.seconds !== undefined) return secondsAsUsage(usage.seconds);
  const tokens = mediaTokens(usage);
  if (tokens === undefined) return undefined;
  const { promptTokens } = tokens;
  const { audio_tokens: heard } = objectOf(usage.input_token_details);
  // Input not reported as text counts as audio.
  const audioInputTokens = Math.min(promptTokens, countOf(heard) ?? promptTokens);
  return { ...tokens, cachedTokens: 0, parts: { ...NO_PARTS, audioInputTokens } };
}

/** Rounds up to whole seconds. */
function secondsAsUsage(seconds: unknown): TokenUsage | undefined {
  const isLength = typeof seconds === 'number' && seconds >= 0 && seconds <= MAX_REPORTED_TOKENS;
  if (!isLength) return undefined;
  const toolCalls = { [unitName(SECOND)]: Math.ceil(seconds) };
  return { promptTokens: 0, cachedTokens: 0, completionTokens: 0, parts: { ...NO_PARTS, toolCalls } };
}

/** The last event repeats the whole text. */
function transcriptStream(): StreamReader {
  let hasWritten = false;
  const isLast = ({ type }: Fields) => type === 'transcript.text.done';
  return typedStream({
    isLast,
    read: (event) => {
      const finished = isLast(event);
      const piece = event.delta ?? (finished && hasWritten ? undefined : event.text);
      const written = typeof piece === 'string' ? [piece] : [];
      hasWritten ||= written.length > 0;
      const usage = usageOf(event.usage);
      const progress = [{ ...NO_OUTPUT, index: 0, finished, written }];
      return { ...NO_FACTS, usage, hasUsage: isObject(event.usage), progress };
    },
  });
}
