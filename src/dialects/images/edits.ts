/** The image-edits dialect: `POST /v1/images/edits`, a form with images. Answers are in the images dialect. */
import { DIALECT_PATHS } from '../../core/dialects.ts';
import type { JsonBody } from '../../wire/body.ts';
import { imageSize } from '../../wire/media/image-size.ts';
import type { Checked, Dialect, InputVisitor, ModelRequest } from '../dialect.ts';
import { filesIn, misplacedFile, typedForm } from '../form.ts';
import { IMAGES, imageProblem, imageRequest } from './images.ts';

export const IMAGE_EDITS: Dialect = {
  ...IMAGES,
  name: 'image_edits',
  title: 'images',
  path: DIALECT_PATHS.image_edits,
  isForm: true,
  check: checkEdit,
  walkInput,
};

const FILES: readonly string[] = ['image', 'image[]', 'mask', 'markup'];
const FILE_NAMES: ReadonlySet<string> = new Set(FILES);
const TYPED: ReadonlySet<string> = new Set(['n', 'partial_images', 'frame_count', 'stream']);
const MAX_IMAGES = 16;

function checkEdit(form: JsonBody, model: string): Checked {
  const body = typedForm(form, TYPED);
  const problem = imageProblem(body);
  if (problem !== undefined) return problem;
  const misplaced = misplacedFile(body.fields, FILE_NAMES);
  if (misplaced !== undefined) return { ok: false, problem: misplaced };
  const images = filesIn(body.fields, ['image', 'image[]']).length;
  if (images < 1 || images > MAX_IMAGES) return { ok: false, problem: `image: expected 1 to ${MAX_IMAGES} files` };
  return { ok: true, request: imageRequest(IMAGE_EDITS, body, model) };
}

/** OpenAI's image guide (2026-11): the maximum tokens in addition to the tiles of an image at high fidelity. */
const TOKENS_OF_FIDELITY = 6_240;

function walkInput(request: ModelRequest, visit: InputVisitor): number {
  const { fields } = request.body;
  const texts = Object.entries(fields).filter(([name]) => !FILE_NAMES.has(name));
  const files = filesIn(fields, FILES);
  for (const { bytes } of files) visit.attachment({ kind: 'image', size: imageSize(bytes) });
  const body = { ...request.body, fields: Object.fromEntries(texts) };
  return IMAGES.walkInput({ ...request, body }, visit) + files.length * TOKENS_OF_FIDELITY;
}
