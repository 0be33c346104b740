/** The mock's transcription dialects: the transcript is the prompt. */
import type { Fields } from '../../dialects/dialect.ts';
import {
  type Answer,
  errorJson,
  type MockDialect,
  mediaStream,
  type StreamWriter,
  textOf,
  typedEvent,
} from './answer.ts';
import { promptAlone } from './reading.ts';

export const TRANSCRIPTIONS_MOCK: MockDialect = {
  idPrefix: 'transcript-',
  read: ({ prompt = USUAL }) => promptAlone(prompt, 1),
  errorBody: errorJson,
  wholeBody,
  startStream,
};

/** The transcript of a request without a prompt. */
const USUAL = 'The mock provider has heard a sound.';

function wholeBody(answer: Answer): string {
  const { body, hostField, hostTools } = answer.request;
  const text = textOf(answer, 'text');
  const bill = billOf(answer);
  if ((hostField?.value ?? body.fields.response_format) !== 'verbose_json') return JSON.stringify({ text, ...bill });
  const duration = hostTools[0]?.calls ?? 0;
  const segments = [{ id: 0, start: 0, end: duration, text: ` ${text}` }];
  return JSON.stringify({ task: 'transcribe', language: 'english', duration, text, segments, ...bill });
}

function billOf({ usage }: Answer): Fields {
  if (usage === undefined) return {};
  const { input, output } = usage;
  const details = { audio_tokens: input, text_tokens: 0 };
  return {
    usage: {
      type: 'tokens',
      input_tokens: input,
      input_token_details: details,
      output_tokens: output,
      total_tokens: input + output,
    },
  };
}

function startStream(answer: Answer): StreamWriter {
  const done = { type: 'transcript.text.done', text: textOf(answer, 'text'), ...billOf(answer) };
  return {
    ...mediaStream(() => typedEvent(done)),
    piece: (_, delta) => typedEvent({ type: 'transcript.text.delta', delta }),
  };
}
