/**
 * Reads the names of everything that requests, answers and events can hold from the types of the official libraries.
 *
 * What has a `type` is a kind, and has its name wherever it stands: `content[image].source` is the field `source` of
 * an image, which was first found in a field `content`. Fields of other objects continue a path: `usage.input_tokens`.
 * `speed=fast` is a value of a field.
 */
import type { Type } from 'typescript/unstable/sync';
import type { Alternative, Field, Types } from './types.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A name, and how to say it. */
export interface Name {
  /** What its value can be, an array for what such elements; `object` for a kind. */
  readonly alternatives: readonly Alternative[];
  /** The least that its type allows: of a kind, its fields. */
  readonly sample: () => unknown;
  /** A request, answer or event in which the field has this value, or the kind these fields. All else is the least possible. */
  readonly say: (value: unknown) => Fields;
}

export type Names = ReadonlyMap<string, Name>;

/** Fields that hold what others hold: their kinds have the same names. An empty name is that of the answer itself. */
const SAME: Readonly<Record<string, string>> = {
  actions: 'action',
  annotation: 'annotations',
  citation: 'citations',
  content_block: 'content',
  definition: 'tools',
  item: 'output',
  message: '',
  part: 'content',
  response: '',
  system: 'content',
};

/** What tells the kinds of objects apart, in the order in which they count. */
const DISCRIMINATORS = ['type', 'object', 'role'];

/** Several times what the types need. */
const MAX_SAMPLE_DEPTH = 8;

/** Kinds that would be refused, need a price of their own or hold the most, and stand for others only where there are none. */
const UNUSUAL: ReadonlySet<string> = new Set([
  'advisor_20260301',
  'base64',
  'browser_toolset_20260801',
  'container_reference',
  'file',
  'mcp_tool_reference',
  'mcp_toolset_reference',
  'url',
]);

/** A pixel, or what could be one, in base64. */
export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ';
const TEXT_FILE = { file_data: `data:text/plain;base64,${Buffer.from('A text').toString('base64')}` };

/** What kinds say beyond what their types demand, or leave out: without data, or with a name of something at the host, they are refused. */
const NEEDED: Readonly<Record<string, Fields>> = {
  '[response]': { usage: { input_tokens: 1_000, output_tokens: 1_000 } },
  'content[input_file]': TEXT_FILE,
  'input[code_interpreter_call]': { container_id: null },
  'input[image_generation_call]': { result: PIXEL },
  'output[input_file]': TEXT_FILE,
  'tools[code_interpreter]': { container: { type: 'auto' } },
};

/** Figures that are parts of others, and so smaller. */
const PART_OF_OTHERS = /_details|cache_creation/;
const MAXIMUM = /(?:max|budget)_tokens$/;

/** Somewhere that a type stands. */
interface Spot {
  readonly type: Type;
  readonly path: string;
  /** The name of the field, for the kinds in it. */
  readonly field: string;
  /** The objects without a kind around it. */
  readonly above: readonly Type[];
  readonly say: (value: unknown) => Fields;
}

/** `isWhole`: of names that stand for all that is in them. Breadth first, so that kinds are named by the shortest way to them. */
export function readNames(
  types: Types,
  roots: readonly Type[],
  isWhole: (name: string) => boolean,
  isRequest: boolean,
): Names {
  const names = new Map<string, Name>();
  const seen = new Set<string>();
  for (const root of roots) {
    const queue: Spot[] = [{ type: root, path: '', field: '', above: [], say: (value) => value as Fields }];
    for (let spot = queue.shift(); spot !== undefined; spot = queue.shift()) queue.push(...readSpot(spot));
  }
  return names;

  function add(name: string, found: Name): void {
    if (!names.has(name)) names.set(name, found);
  }

  function readSpot(spot: Spot): Spot[] {
    return types.alternativesOf(spot.type).flatMap((alternative) => {
      if (alternative.kind === 'object') return readObject(spot, alternative);
      if (alternative.kind === 'text' && isRequest) {
        const { value, inArray } = alternative;
        add(`${spot.path}=${value}`, {
          alternatives: [alternative],
          sample: () => (inArray ? [value] : value),
          say: spot.say,
        });
      }
      return [];
    });
  }

  function readObject(spot: Spot, alternative: Alternative): Spot[] {
    const { type } = alternative;
    const fields = types.fieldsOf(type);
    const wrap = (value: Fields) => spot.say(alternative.inArray ? [value] : value);
    const [discriminator, kinds] = kindsOf(types, fields);
    if (discriminator === undefined) {
      return spot.above.includes(type) ? [] : readFields(spot, fields, [...spot.above, type], wrap);
    }
    return kinds.flatMap((kind) => {
      const id = `${type.id} ${kind}`;
      if (seen.has(id)) return [];
      seen.add(id);
      const path = `${spot.field}[${kind}]`;
      const say = (value: Fields) => wrap({ [discriminator.name]: kind, ...value });
      const others = fields.filter((field) => field !== discriminator);
      add(path, {
        alternatives: [alternative],
        sample: () => least(others, path),
        say: (value) => say(value as Fields),
      });
      return readFields({ ...spot, path }, others, [type], say);
    });
  }

  function readFields(
    spot: Spot,
    fields: readonly Field[],
    above: readonly Type[],
    say: (value: Fields) => Fields,
  ): Spot[] {
    if (isWhole(spot.path)) return [];
    return fields.flatMap(({ name: field, type }) => {
      const path = spot.path === '' ? field : `${spot.path}.${field}`;
      const sayField = (value: unknown) => say({ ...least(fields, spot.path), [field === '*' ? 'any' : field]: value });
      const alternatives = types.alternativesOf(type);
      add(path, {
        alternatives,
        sample: () => NEEDED[spot.path]?.[field] ?? sample(alternatives, path),
        say: sayField,
      });
      if (isWhole(path)) return [];
      return [{ type, path, field: SAME[field] ?? field, above, say: sayField }];
    });
  }

  /** The fields that an object needs. */
  function least(fields: readonly Field[], path = '', depth = 0): Fields {
    const needed = fields.filter(({ isOptional }) => !isOptional);
    const said = needed.map(({ name, type }) => [name, leastOf(types.alternativesOf(type), `${path}.${name}`, depth)]);
    return { ...Object.fromEntries(said), ...NEEDED[path] };
  }

  function leastOf(alternatives: readonly Alternative[], path: string, depth: number): unknown {
    const can = (wanted: Alternative['kind']) => alternatives.some(({ kind }) => kind === wanted);
    if ((can('null') && !can('number')) || depth > MAX_SAMPLE_DEPTH) return null;
    return alternatives.every(({ inArray }) => inArray) ? [] : sample(alternatives, path, depth);
  }

  /** Something that a field can hold. */
  function sample(alternatives: readonly Alternative[], path: string, depth = 0): unknown {
    const usable = alternatives.filter(({ kind }) => kind !== 'null');
    const first = usable.find((each) => !isUnusual(each)) ?? usable[0];
    if (first === undefined) return null;
    const value = sampleOf(first, path, depth);
    return first.inArray ? [value] : value;
  }

  function isUnusual({ kind, type }: Alternative): boolean {
    return kind === 'object' && kindsOf(types, types.fieldsOf(type))[1].some((each) => UNUSUAL.has(each));
  }

  function sampleOf({ kind, type, value }: Alternative, path: string, depth: number): unknown {
    if (kind === 'object') return least(types.fieldsOf(type), path, depth + 1);
    const number = PART_OF_OTHERS.test(path) ? 10 : isRequest && !MAXIMUM.test(path) ? 1 : 1_000;
    const string = path.endsWith('.image_url') ? `data:image/png;base64,${PIXEL}` : 'text';
    return { text: value, string, number, boolean: true, unknown: {}, null: null }[kind];
  }
}

/** The field that tells the kind of an object, and the kinds that it can be. */
function kindsOf(types: Types, fields: readonly Field[]): [Field | undefined, readonly string[]] {
  for (const wanted of DISCRIMINATORS) {
    const field = fields.find(({ name }) => name === wanted);
    const alternatives =
      field === undefined ? [] : types.alternativesOf(field.type).filter(({ kind }) => kind !== 'null');
    const kinds = alternatives.flatMap(({ kind, value = '' }) => (kind === 'text' ? [value] : []));
    // A role that can be several says nothing of what else there is.
    const isTelling =
      kinds.length > 0 && kinds.length === alternatives.length && (wanted === 'type' || kinds.length === 1);
    if (isTelling) return [field, kinds];
  }
  return [undefined, []];
}
