/** The mock's images dialect: a small blue square. */
import type { Fields } from '../../dialects/dialect.ts';
import { type Answer, errorJson, type MockDialect, mediaStream, type StreamWriter, typedEvent } from './answer.ts';
import { promptAlone } from './reading.ts';

export const IMAGES_MOCK: MockDialect = {
  idPrefix: 'img-',
  read: ({ prompt }) => promptAlone(prompt),
  errorBody: errorJson,
  wholeBody,
  startStream,
};

/** A PNG of 16 x 16 pixels. */
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mNwSFhAEmIY1TCqYfhqAAC/t0AQ7m5RSwAAAABJRU5ErkJggg==';

function wholeBody(answer: Answer): string {
  const { request, context } = answer;
  const data = Array.from({ length: request.choices }, () => ({ b64_json: PICTURE }));
  return JSON.stringify({ created: context.createdS, data, ...saidOf(answer, answer.usage?.output) });
}

/** Image settings and usage. */
function saidOf({ request, usage }: Answer, output = 0): Fields {
  const { size = 'auto', quality = 'auto' } = request.body.fields;
  return {
    output_format: 'png',
    ...(size !== 'auto' && { size }),
    ...(quality !== 'auto' && { quality }),
    ...(usage && {
      usage: {
        input_tokens: usage.input,
        input_tokens_details: { text_tokens: usage.input, image_tokens: 0 },
        output_tokens: output,
        total_tokens: usage.input + output,
      },
    }),
  };
}

function startStream(answer: Answer): StreamWriter {
  const { request, context, usage } = answer;
  const { partial_images: partial = 0 } = request.body.fields;
  const image = { b64_json: PICTURE, created_at: context.createdS };
  return mediaStream(() => {
    const shown = Array.from({ length: Number(partial) }, (_, partial_image_index) =>
      typedEvent({ type: 'image_generation.partial_image', ...image, partial_image_index }),
    );
    const each = Math.ceil((usage?.output ?? 0) / request.choices);
    const done = Array.from({ length: request.choices }, () =>
      typedEvent({ type: 'image_generation.completed', ...image, ...saidOf(answer, each) }),
    );
    return [...shown, ...done].join('');
  });
}
