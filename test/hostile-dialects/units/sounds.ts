/** Attacks by sound: files that last longer than their headers and tables state, at a host that decodes as ffmpeg does, and answers of pauses. */
import type { UpstreamCall } from '../../support/fake-upstream.ts';
import {
  adtsFrame,
  INEXACT_SOUNDS,
  LONG_PACKET,
  LYING_SOUNDS,
  oggOpus,
  oggPage,
  quietFlac,
} from '../../support/sound-files.ts';
import { type Attack, form, json } from './attack.ts';

const provider = {
  models: {
    second: { per: { second: 0.0001 } },
    voice: { input: 1, output: 2, audio_output: 12, max_output: 4_000 },
  },
};
const NANOS_PER_SECOND = 100_000;

/** Answers in the format that the host is asked for. */
function transcribe(call: UpstreamCall, seconds: number): void {
  const asked = /name="response_format"\r\n(?:.*\r\n)*\r\n(\w+)/.exec(call.body)?.[1] ?? 'json';
  const usage = { type: 'duration', seconds: Math.ceil(seconds) };
  if (asked === 'json') return call.answer(200, { text: 'Hi.', usage });
  if (asked === 'verbose_json') return call.answer(200, { text: 'Hi.', duration: seconds, segments: [], usage });
  call.answer(200, 'Hi.\n', { 'content-type': 'text/plain; charset=utf-8' });
}

const TRANSCRIPTS: readonly Attack[] = [...LYING_SOUNDS, ...INEXACT_SOUNDS].flatMap(({ what, bytes, seconds }) =>
  ['text', 'srt', 'json'].map((format) => ({
    tries: `${what}, as ${format}`,
    path: '/v1/audio/transcriptions',
    provider,
    send: form(['file', bytes], ['model', 'fake/second'], ['response_format', format]),
    bill: Math.ceil(seconds) * NANOS_PER_SECOND,
    mayBeRefused: true,
    answer: (call) => transcribe(call, seconds),
  })),
);

/** Answers of few bytes for what their hosts bill. */
const PAUSES = [
  { format: 'aac', bytes: Buffer.concat(Array<Buffer>(2_344).fill(adtsFrame(24_000))), seconds: 100 },
  { format: 'flac', ...quietFlac(12) },
  {
    format: 'opus',
    bytes: oggOpus(...Array.from({ length: 8 }, (_, at) => oggPage(Array(100).fill(LONG_PACKET), { number: at + 2 }))),
    seconds: 96,
  },
] as const;

const SPEECH: readonly Attack[] = PAUSES.map(({ format, bytes, seconds }) => ({
  tries: `speech by tokens in ${format} that is one pause`,
  path: '/v1/audio/speech',
  provider,
  send: json({ model: 'fake/voice', voice: 'a', input: 'one', response_format: format }),
  bill: 1_000 + Math.floor(seconds / 0.05) * 12_000,
  answer: (call) => call.answer(200, bytes, { 'content-type': `audio/${format}` }),
}));

export const SOUND_ATTACKS = [...TRANSCRIPTS, ...SPEECH];
