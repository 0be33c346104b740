/**
 * Composes attacks out of senders' tricks: fields, spellings, repeats, encodings, maxima, choices,
 * races, leaving at every point.
 */
import type { Random } from '../support/random.ts';
import type { KeySettings } from '../support/state.ts';
import { LEAVING_POINTS, type LeavingPoint, type Wish } from './conversation.ts';
import { MANNERS, type MannerName } from './host.ts';
import type { Fields } from './names.ts';
import { DEFAULT_OUTPUT, type Request, stepNanos } from './site.ts';
import { ALL_ALPHABETS, DISGUISES, textOf } from './texts.ts';
import { AMPLE } from './truthful-site.ts';
import { piecesFor } from './writing.ts';

/** One key, its limits, and what it sends. */
export interface Composition<Sent = Request> {
  readonly settings: KeySettings;
  readonly requests: readonly Sent[];
  /** Whether all are sent at once. */
  readonly isRace: boolean;
  /** The tricks in it, for people who look for the cause. */
  readonly tricks: readonly string[];
}

/**
 * Texts of each alphabet. Requests share them, since counting new ones would take most of the time.
 */
const TEXTS = 12;
const LENGTHS = [1, 40, 400, 4_000];
const MANNER_NAMES = Object.keys(MANNERS) as MannerName[];
/** Most tokens that a model is asked to write. */
const MOST_WRITTEN = 900;
const MAXIMA = [1, 7, DEFAULT_OUTPUT - 1, DEFAULT_OUTPUT, 200, 350, 900, 5_000];
const CHOICES = [1, 1, 1, 2, 5, 12];

/** Texts of all alphabets, some of them in disguise. */
export function textsFor(random: Random): readonly string[] {
  return ALL_ALPHABETS.flatMap((alphabet) =>
    Array.from({ length: TEXTS }, () => {
      const [, disguise] = random.pick(DISGUISES);
      return disguise(textOf(alphabet, random.pick(LENGTHS), random));
    }),
  );
}

export class Composer {
  readonly #texts: readonly string[];

  constructor(random: Random) {
    this.#texts = textsFor(random);
  }

  compose(random: Random): Composition {
    const tricks: string[] = [];
    const manner = random.pick(MANNER_NAMES);
    const isRace = random.chance(0.4);
    const template = this.#requestTo(manner, random, tricks);
    const count = isRace ? random.between(2, 8) : random.between(1, 3);
    const requests = Array.from({ length: count }, () =>
      random.chance(0.7) ? template : this.#requestTo(manner, random, tricks),
    );
    return { settings: settingsFor(`${manner}/cheap`, random, tricks), requests, isRace, tricks };
  }

  #requestTo(manner: MannerName, random: Random, tricks: string[]): Request {
    const model = `${manner}/cheap`;
    const fields: Fields = { model, messages: this.#messages(random) };
    const chosen = TRICKS.filter(({ isRefused }) => random.chance(isRefused ? 0.03 : 0.2));
    for (const trick of chosen) {
      tricks.push(trick.name);
      Object.assign(
        fields,
        trick.fields(random, () => random.pick(this.#texts), model),
      );
    }
    const isStream = random.chance(0.6);
    if (isStream) fields.stream = true;
    const point = random.chance(0.5) ? random.pick(LEAVING_POINTS) : 'never';
    const leaves = isStream ? point : jsonLeave(point);
    tricks.push(isStream ? 'stream' : 'JSON', `leaves: ${leaves}`);
    return {
      body: spelled(fields, random, tricks),
      wish: wishFor(random),
      leaves,
    };
  }

  #messages(random: Random): unknown[] {
    const text = () => random.pick(this.#texts);
    return Array.from({ length: random.between(1, 3) }, () => ({
      role: random.pick(['user', 'system', 'assistant']),
      content: random.chance(0.7) ? text() : this.#parts(random),
    }));
  }

  #parts(random: Random): unknown[] {
    const text = () => random.pick(this.#texts);
    const makers = [
      () => ({ type: 'text', text: text() }),
      () => ({ type: random.pick(['note', 'input_text', 'image']), data: text() }),
      () => ({ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }),
      () => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${text()}` } }),
      () => ({ type: 'image_url', image_url: { url: 'https://example.org/a.png' }, [text() || 'x']: text() }),
    ];
    return Array.from({ length: random.between(1, 3) }, () => random.pick(makers)());
  }
}

interface Trick {
  readonly name: string;
  readonly isRefused?: true;
  fields(random: Random, text: () => string, model: string): Fields;
}

const tool = (text: string, random: Random) => ({
  type: 'function',
  function: {
    name: 'f',
    description: text,
    parameters: { type: 'object', enum: [random.between(1, 1e15), text.slice(0, 100)] },
  },
});
const schema = (text: () => string) => ({ type: 'json_schema', json_schema: { name: 'f', schema: namedText(text) } });
const namedText = (text: () => string) => ({ [text() || 'a']: [text()] });

/** Each is in one request of five; those that are always refused are rarer. */
const TRICKS: readonly Trick[] = [
  { name: 'max_tokens', fields: (random) => ({ max_tokens: random.pick(MAXIMA) }) },
  { name: 'max_completion_tokens', fields: (random) => ({ max_completion_tokens: random.pick(MAXIMA) }) },
  { name: 'n', fields: (random) => ({ n: random.pick(CHOICES) }) },
  { name: 'tools', fields: (random, text) => ({ tools: [tool(text(), random)] }) },
  { name: 'functions', fields: (random, text) => ({ functions: [tool(text(), random).function] }) },
  { name: 'response_format', fields: (_, text) => ({ response_format: schema(text) }) },
  { name: 'unknown field', fields: (_, text) => ({ prompt_suffix: text() }) },
  { name: 'unknown names', fields: (_, text) => ({ template_values: namedText(text) }) },
  { name: 'service_tier', isRefused: true, fields: (random) => ({ service_tier: random.pick(['priority', 'flex']) }) },
  { name: 'dear model', fields: (_random, _text, model) => ({ model: model.replace('cheap', 'dear') }) },
];

/**
 * Other spellings of names that hosts act on, with values that would pay off at a host that reads
 * them.
 */
const SPELLINGS: readonly (readonly [name: string, value: unknown])[] = [
  ['Model', 'vendor-dear'],
  ['MODEL', 'vendor-dear'],
  ['N', 20],
  ['Max_Tokens', 900],
  ['max_token\u017f', 900],
  ['max_to\u212aens', 900],
  ['\u017ftream', true],
  ['Messages', [{ role: 'user', content: '0123456789'.repeat(300) }]],
  ['STREAM_OPTIONS', { include_usage: false }],
];

/** The body, perhaps with a second spelling or a repeat of a name, and with its strings escaped. */
function spelled(fields: Fields, random: Random, tricks: string[]): string {
  const members = Object.entries(fields).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const add = (trick: string, member: string) => {
    tricks.push(trick);
    members.splice(random.between(0, members.length), 0, member);
  };
  if (random.chance(0.1)) {
    const [name, value] = random.pick(SPELLINGS);
    add(`spelling ${name}`, `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  }
  if (random.chance(0.02)) add('repeat', `"\\u006dodel":"vendor-dear"`);
  if (fields.stream === true && random.chance(0.2)) {
    const options = random.pick([
      '{"Include_Usage":false}',
      '{"include_usage":false}',
      '{"include_usage":true}',
      'null',
    ]);
    add('stream_options', `"stream_options":${options}`);
  }
  const text = `{${members.join(',')}}`;
  if (!random.chance(0.1)) return text;
  tricks.push('escapes');
  return text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A JSON answer comes at once: its client can leave before it, or not at all. */
export function jsonLeave(leaves: LeavingPoint): LeavingPoint {
  return leaves === 'never' ? 'never' : 'arrival';
}

function wishFor(random: Random): Partial<Wish> {
  const alphabet = random.pick(ALL_ALPHABETS);
  return {
    alphabet,
    field: random.pick(['content', 'content', 'reasoning_content', 'tool call'] as const),
    tokens: random.pick([0, 1, 20, DEFAULT_OUTPUT, 250, MOST_WRITTEN]),
    blanks: random.chance(0.1) ? 20_000 : 0,
    report: random.pick(['end', 'end', 'each chunk', 'never'] as const),
    // A hold cannot grow within an event, so none is longer than a step.
    piecesAtOnce: piecesFor(alphabet, random.pick([1, DEFAULT_OUTPUT / 4, DEFAULT_OUTPUT / 2])),
  };
}

/** Limits that the attack may come near. `model`: the only one of its allowlist, if it has one. */
export function settingsFor(model: string, random: Random, tricks: string[]): KeySettings {
  const settings: { -readonly [Name in keyof KeySettings]: KeySettings[Name] } = { ...AMPLE };
  if (random.chance(0.3)) settings.spendLimitNanos = BigInt(random.between(0, 10 * stepNanos()));
  if (random.chance(0.25)) settings.tpm = random.between(1, 20_000);
  if (random.chance(0.3)) settings.allowlist = [model];
  if (random.chance(0.2)) settings.concurrency = random.between(1, 3);
  if (settings.allowlist !== undefined) tricks.push('allowlist');
  return settings;
}
