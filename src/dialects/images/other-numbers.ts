/**
 * Finds fields that may be synonyms of `n`. Hosts name the number of images `count`, `num_images`, `batchSize`, `k` and so
 * on, so any small number in an unknown field may multiply the bill.
 */
import type { ToolSetting } from '../../core/host-tools.ts';
import type { Fields } from '../dialect.ts';
import { isFile } from '../form.ts';
import { type Path, pathText } from '../host-tools.ts';

/** Smaller than image sides, seeds and similar settings. */
const MOST_IMAGES = 255;

/** Common settings of a single image at hosts. */
const OF_ONE_IMAGE: ReadonlySet<string> = new Set([
  ...[
    'seed',
    'steps',
    'num_inference_steps',
    'num_steps',
    'sampling_steps',
    'inference_steps',
    'guidance',
    'guidance_scale',
  ],
  ...['cfg', 'cfg_scale', 'strength', 'width', 'height', 'safety_tolerance', 'output_quality', 'clip_skip', 'eta'],
]);

/** Returns the unknown fields with a whole number from 2 to 255, also within objects and lists. */
export function otherNumbersIn(fields: Fields): readonly ToolSetting[] {
  const found: ToolSetting[] = [];
  find(fields, [], '', found);
  return found;
}

/** `name`: the field that contains a list. MAX_JSON_DEPTH bounds the recursion. */
function find(holder: Fields, path: Path, name: string, found: ToolSetting[]): void {
  for (const [key, value] of Object.entries(holder)) {
    const field = Array.isArray(holder) ? name : key;
    const here = [...path, Array.isArray(holder) ? Number(key) : key];
    if (typeof value === 'object' && value !== null) {
      if (!isFile(value)) find(value as Fields, here, field, found);
    } else if (isSmallNumber(value) && !OF_ONE_IMAGE.has(field)) {
      found.push({ field, value: String(value), isUsual: false, where: pathText(here) });
    }
  }
}

/** Hosts may convert numeric strings. */
function isSmallNumber(value: unknown): boolean {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return Number.isInteger(number) && (number as number) > 1 && (number as number) <= MOST_IMAGES;
}
