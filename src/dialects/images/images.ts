/** The images dialect: `POST /v1/images/generations`. */
import { DIALECT_PATHS } from '../../core/dialects.ts';
import { printableName } from '../../core/printable.ts';
import { type Unit, unitsOf } from '../../core/units.ts';
import type { JsonBody } from '../../wire/body.ts';
import { MAX_IMAGE_EVENT_BYTES } from '../../wire/sse.ts';
import { readData } from '../attachments.ts';
import { flag, PRICED, serviceTier, text, wholeNumber } from '../checks.ts';
import type { Checked, Dialect, Fields, InputVisitor, InvalidRequest, ModelRequest } from '../dialect.ts';
import { USER_FIELDS_OF_FORM } from '../end-user.ts';
import { isFile } from '../form.ts';
import { readTool, toolFields } from '../host-tools.ts';
import { type FieldKinds, walkFields } from '../input.ts';
import { bodyProblem, checksWithoutText, requestWithoutText, WITHOUT_TEXT } from '../without-text.ts';
import { imageStream, readImages, TOKENS_PER_PARTIAL_IMAGE } from './images-answer.ts';
import { otherNumbersIn } from './other-numbers.ts';

const IMAGE: Unit = 'image';

export const IMAGES: Dialect = {
  ...WITHOUT_TEXT,
  name: 'images',
  title: 'images',
  path: DIALECT_PATHS.images,
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  answerFields: new Set(
    'created created_at data type b64_json url revised_prompt background output_format quality size partial_image_index usage safety_identifier'.split(
      ' ',
    ),
  ),
  check: checkImages,
  walkInput,
  readAnswer: readImages,
  startStream: imageStream,
};

/** Maximum images of a request. OpenAI allows ten. */
const MAX_IMAGES = 128;

const IMAGE_CHECKS = checksWithoutText({
  prompt: (value) => (typeof value === 'string' && value !== '' ? undefined : 'prompt: expected a string'),
  n: wholeNumber('n', 1, MAX_IMAGES),
  size: text('size'),
  quality: text('quality'),
  output_format: checkFormat,
  partial_images: wholeNumber('partial_images', 0, 3),
  frame_count: wholeNumber('frame_count', 2, 16),
  stream: flag('stream'),
  service_tier: serviceTier,
});

/** Refuses SVG, which another model generates at separate prices (`svg_usage`). */
function checkFormat(value: unknown): string | undefined {
  return value === 'svg' ? `output_format: svg ${PRICED}` : text('output_format')(value, {});
}

function checkImages(body: JsonBody, model: string): Checked {
  const problem = imageProblem(body);
  if (problem !== undefined) return problem;
  return { ok: true, request: imageRequest(IMAGES, body, model) };
}

export function imageProblem(body: JsonBody): InvalidRequest | undefined {
  const problem = bodyProblem(body, IMAGE_CHECKS);
  if (problem !== undefined) return problem;
  const series = seriesIn(unknownIn(body.fields));
  return series === undefined
    ? undefined
    : { ok: false, problem: `${printableName(series)}: a series has any number of images; use n, which is held for` };
}

function unknownIn(fields: Fields): Fields {
  const isKnown = (name: string) => FIELDS.settings.has(name) || FIELDS.unnamed.has(name);
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !isKnown(name)));
}

/** Matches fields that let a model generate a series of images. */
const SERIES = /sequential/i;

/** Returns the name of the field that asks for a series. MAX_JSON_DEPTH bounds the recursion. */
function seriesIn(fields: Fields): string | undefined {
  for (const [name, value] of Object.entries(fields)) {
    if (SERIES.test(name)) return name;
    const holds = typeof value === 'object' && value !== null && !isFile(value);
    const within = holds ? seriesIn(value as Fields) : undefined;
    if (within !== undefined) return within;
  }
  return undefined;
}

/** Settings that change the price of an image, and free ones. */
const SETTINGS = toolFields(
  'model prompt image image[] mask markup n stream response_format background moderation output_compression frame_duration_ms user safety_identifier service_tier',
  {
    size: '',
    quality: '',
    complexity: '',
    style: '',
    input_fidelity: 'low',
    partial_images: '0',
    output_format: 'png webp jpeg',
  },
);

/** OpenAI's default number of GIF frames. */
const DEFAULT_FRAMES = 9;

export function imageRequest(dialect: Dialect, body: JsonBody, model: string): ModelRequest {
  const { fields } = body;
  const images = typeof fields.n === 'number' ? fields.n : 1;
  const isGif = fields.output_format === 'gif';
  const frames = typeof fields.frame_count === 'number' ? fields.frame_count : isGif ? DEFAULT_FRAMES : 1;
  const partial = typeof fields.partial_images === 'number' ? fields.partial_images : 0;
  const { settings } = readTool(fields, [], SETTINGS);
  return {
    ...requestWithoutText(dialect, body, model),
    stream: fields.stream === true,
    choices: images,
    asked: [{ modality: 'image', field: 'prompt' }],
    outputAt: ({ imageOutput, maxOutput = 0 }) =>
      imageOutput === undefined ? 0 : maxOutput * frames + partial * TOKENS_PER_PARTIAL_IMAGE,
    hostTools: [unitsOf(IMAGE, images, 'n', settings)],
    otherNumbers: otherNumbersIn(unknownIn(fields)),
  };
}

const FIELDS: FieldKinds = {
  settings: new Set([
    ...['model', 'n', 'stream', 'size', 'quality', 'complexity', 'style', 'background', 'moderation', 'output_format'],
    ...['output_compression', 'partial_images', 'frame_count', 'frame_duration_ms', 'response_format', 'service_tier'],
    ...USER_FIELDS_OF_FORM,
  ]),
  unnamed: new Set(['prompt']),
  walked: new Set(),
};

/** Token overhead of the format per prompt. */
const TOKENS_OF_FORMAT = 8;

function walkInput({ body: { fields } }: ModelRequest, visit: InputVisitor): number {
  walkFields(fields, FIELDS, visit);
  visitImages(unknownIn(fields), visit);
  return TOKENS_OF_FORMAT;
}

/** Visits images in any field, since some hosts read them under names of their own. MAX_JSON_DEPTH bounds the recursion. */
function visitImages(holder: Fields, visit: InputVisitor): void {
  for (const [field, value] of Object.entries(holder)) {
    if (typeof value === 'object' && value !== null) visitImages(value as Fields, visit);
    else if (typeof value === 'string' && (ADDRESS.test(value) || IMAGE_DATA.test(value))) {
      for (const attachment of readData({ holder, field }, 'image').attachments) visit.attachment(attachment);
    }
  }
}

const ADDRESS = /^\s*(?:(?:https?|data):|[a-z][a-z0-9+.-]{1,30}:\/\/)/i;
/** The start of a PNG, JPEG, GIF or WebP in base64, in either alphabet. */
const IMAGE_DATA = /^\s*(?:iVBORw0K|[/_]9j[/_]|R0lGOD|UklGR)/;
