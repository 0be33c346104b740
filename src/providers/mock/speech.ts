/** The mock's speech dialect: a tone in a WAV file, whose length depends on the input. */
import type { Fields } from '../../dialects/dialect.ts';
import { type Answer, errorJson, type MockDialect, mediaStream, type StreamWriter, typedEvent } from './answer.ts';
import { promptAlone } from './reading.ts';

export const SPEECH_MOCK: MockDialect = {
  idPrefix: 'speech-',
  read: ({ input }) => promptAlone(input),
  errorBody: errorJson,
  wholeBody: ({ request }) => toneFor(request.body.fields),
  contentType: 'audio/wav',
  startStream,
};

const SAMPLE_RATE = 8_000;
const PITCH = 440;
const SECONDS_PER_CHARACTER = 0.05;
const MAX_SECONDS = 5;
/** Zero level of unsigned 8-bit samples, and amplitude of the tone. */
const [MIDDLE, LOUDNESS] = [128, 48];

function toneFor({ input }: Fields): Buffer {
  const samples = Math.ceil(SAMPLE_RATE * Math.min(MAX_SECONDS, String(input).length * SECONDS_PER_CHARACTER));
  const wave = (at: number) => Math.round(MIDDLE + LOUDNESS * Math.sin((2 * Math.PI * PITCH * at) / SAMPLE_RATE));
  return Buffer.concat([headerOf(samples), Buffer.from(Uint8Array.from({ length: samples }, (_, at) => wave(at)))]);
}

const HEADER_BYTES = 44;

/** WAV header for 8-bit mono. */
function headerOf(samples: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(HEADER_BYTES - 8 + samples, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(SAMPLE_RATE, 24);
  header.writeUInt32LE(SAMPLE_RATE, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(samples, 40);
  return header;
}

function startStream({ request, usage }: Answer): StreamWriter {
  return mediaStream(() => {
    const audio = toneFor(request.body.fields).toString('base64');
    const { input = 0, output = 0 } = usage ?? {};
    const bill = { input_tokens: input, output_tokens: output, total_tokens: input + output };
    const done = { type: 'speech.audio.done', ...(usage && { usage: bill }) };
    return typedEvent({ type: 'speech.audio.delta', audio }) + typedEvent(done);
  });
}
