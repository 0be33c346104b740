/** Asks the gateway's own code whether it does with a name of requests what the table says. */
import { isDeepStrictEqual } from 'node:util';
import { Catalog, type Model } from '../../src/catalog/catalog.ts';
import { parseWithoutFile } from '../../src/config/load.ts';
import { isObject } from '../../src/core/json.ts';
import type { Dialect } from '../../src/dialects/dialect.ts';
import { DIALECTS } from '../../src/dialects/dialects.ts';
import { COUNT_TOKENS } from '../../src/dialects/messages/messages-count-tokens.ts';
import { plansFor, targetFor } from '../../src/proxy/plan.ts';
import { readJsonBody } from '../../src/wire/body.ts';
import { permittedAs } from '../support/permitted.ts';
import { type Name, PIXEL } from './names.ts';
import type { Row, Shown } from './rows.ts';
import type { Format } from './table.ts';

type Fields = Readonly<Record<string, unknown>>;

/** USD per million tokens, except for the calls of tools. What costs more than other input or output costs ten times as much. */
const PRICES =
  'input: 1, cached_input: 1, output: 20, cache_write: 2, cache_write_1h: 20, audio_input: 1, audio_output: 200, context_window: 200000';
const CONTEXT_WINDOW = 200_000;
const TOOLS = [
  'web_search',
  'web_search_preview',
  'web_fetch',
  'file_search',
  'code_interpreter',
  'code_execution',
  'image_generation',
  'mcp',
  'shell',
  'programmatic_tool_calling',
  'advisor',
];
/** USD a call. */
const TOOL_PRICES = `tools: { ${TOOLS.map((name) => `${name}: 1`).join(', ')} }`;
const TIERS = ['fast', 'flex', 'priority', 'scale', 'ultrafast'];
const TIER_PRICES = 'input: 1, output: 20';
const CONFIG = `
providers:
  host:
    kind: openai
    dialects: [chat, responses, messages, embeddings]
    base_url: http://127.0.0.1:1/v1
    models:
      plain: { ${PRICES} }
      priced: { ${PRICES}, ${TOOL_PRICES}, hold_output: 50, service_tiers: { ${TIERS.map((name) => `${name}: { ${TIER_PRICES} }`).join(', ')} } }
`;
const [PLAIN, PRICED] = new Catalog(parseWithoutFile(CONFIG, {}, '/').providers).models as [Model, Model];
const NANOS_PER_TOKEN = 1_000;

/** Words of a token each. */
const WORDS = 'time year people way day man thing woman life child world school state family student group '.repeat(16);
/** An estimate may be a tenth below the count. */
const WORD_TOKENS = 0.9 * 256;

const BASES: Readonly<Record<Format, Fields>> = {
  chat: { messages: [{ role: 'user', content: WORDS }] },
  responses: { input: WORDS, store: false },
  messages: { max_tokens: 1_000, messages: [{ role: 'user', content: WORDS }] },
  count_tokens: { messages: [{ role: 'user', content: WORDS }] },
  embeddings: { input: WORDS },
};

/** What is wrong with a row; undefined if the gateway does what it says. */
export function requestFault(format: Format, row: Row, name: Name): string | undefined {
  // No part of a body.
  if (row.name.startsWith('betas')) return undefined;
  const fields = requestOf(format, name);
  const plain = attempt(fields, format, PLAIN);
  const priced = attempt(fields, format, PRICED);
  switch (row.what) {
    case 'refused':
      return namingFault(row.name, fields, priced);
    case 'priced':
      if (row.shown === 'variant') return namingFault(row.name, fields, priced);
      return namingFault(row.name, fields, plain) ?? refusalOf(priced);
    case 'held':
      return refusalOf(priced) ?? holdFault(format, row, name);
    case 'acted_on':
    case 'free':
      return refusalOf(priced);
  }
}

/** A whole request that has the name, and something to say beside it. */
function requestOf(format: Format, name: Name, value: unknown = name.sample()): Fields {
  const said = Object.entries(name.say(value)).filter(([, each]) => each !== null && !isDeepStrictEqual(each, []));
  const fields = Object.fromEntries(said);
  const conversation = format === 'responses' || format === 'embeddings' ? 'input' : 'messages';
  const spoken = Array.isArray(fields[conversation]) && format !== 'embeddings';
  return {
    ...BASES[format],
    ...fields,
    ...(spoken && {
      [conversation]: [...(fields[conversation] as Fields[]).map(withContent), { role: 'user', content: WORDS }],
    }),
    ...(fields.stream_options !== undefined && { stream: true }),
    model: PRICED.id,
  };
}

/** A message may leave its content out where another field says something. */
function withContent(message: Fields): Fields {
  return message.role === 'system' ? { content: 'Hi', ...message } : message;
}

type Attempt = { readonly nanos: number } | { readonly problem: string };

/** What is held for a request, or why it is refused. */
function attempt(fields: Fields, format: Format, model: Model = PRICED): Attempt {
  const dialect: Dialect = format === 'count_tokens' ? COUNT_TOKENS : DIALECTS[format];
  const read = readJsonBody(Buffer.from(JSON.stringify(fields)));
  if (!read.ok) return read;
  const checked = dialect.check(read.body, model.id);
  if (!checked.ok) return checked;
  const targeting = targetFor(checked.request, model);
  if (!targeting.ok) return targeting;
  const planning = plansFor(permittedAs(checked.request, [targeting.target]), 'none');
  return planning.ok ? { nanos: Number(planning.plans[0].holdNanos) } : planning;
}

function refusalOf(tried: Attempt): string | undefined {
  return 'problem' in tried ? `refused: ${tried.problem}` : undefined;
}

/** A refusal names the field, its kind, or the tool that they are in. */
function namingFault(name: string, { tools }: Fields, tried: Attempt): string | undefined {
  if (!('problem' in tried)) return 'not refused';
  const kinds = Array.isArray(tools) ? tools.map(({ type }) => String(type)) : [];
  const words = [...name.split(/[^a-z_0-9]+/), ...kinds].map((word) =>
    word.replace(/(?:_\d{4}_\d{2}_\d{2}|_\d{8})$/, ''),
  );
  const said = tried.problem.match(/[a-z]+(?:_[a-z]+)+/g) ?? [];
  const isNamed = words.some(
    (word) => word !== '' && (tried.problem.includes(word) || said.some((each) => word.startsWith(each))),
  );
  return isNamed ? undefined : `the refusal does not name it: ${tried.problem}`;
}

/** Two values of a name, and by how many tokens of input the hold for the second must be larger. */
type Steps = readonly [less: unknown, more: unknown, tokens: number];
/** In place of the smaller value: a request without the name. */
const ABSENT = Symbol('absent');

function holdFault(format: Format, { shown = 'text' }: Row, name: Name): string | undefined {
  // A count of tokens has no output.
  if (format === 'count_tokens' && shown === 'hidden') return undefined;
  const steps = STEPS[shown](name);
  if (steps === undefined) return undefined;
  const [less, more, tokens] = steps;
  const stream = shown === 'hidden' && { stream: true };
  const request = (value: unknown) =>
    value === ABSENT ? { ...BASES[format], model: PRICED.id } : requestOf(format, name, value);
  const [first, second] = [less, more].map((value) => attempt({ ...request(value), ...stream }, format)) as [
    Attempt,
    Attempt,
  ];
  if ('problem' in first || 'problem' in second) return refusalOf(first) ?? refusalOf(second);
  const held = Math.round((second.nanos - first.nanos) / NANOS_PER_TOKEN);
  return held >= tokens ? undefined : `${held} tokens more are held, not ${tokens}`;
}

/** The beginning of a PDF, whose pages nobody can count: it takes what the words leave of the context window. */
const FILE_DATA = Buffer.from('%PDF-1.7').toString('base64');
/** A minute and a half of audio, at the lowest rate that there is. */
const AUDIO_DATA = 'AAAA'.repeat(40_000);

const STEPS: Readonly<Record<Shown, (name: Name) => Steps | undefined>> = {
  text: (name) => textSteps(name, WORD_TOKENS),
  predicted: (name) => textSteps(name, 21 * WORD_TOKENS),
  output: (name) => (canBe(name, 'number') ? [1, 100, 1_000] : [ABSENT, undefined, 1_000]),
  hidden: () => [ABSENT, undefined, 10_000],
  image: (name) => dataSteps(name, 'image/png', PIXEL, 1_500),
  file: (name) => dataSteps(name, 'application/pdf', FILE_DATA, CONTEXT_WINDOW - 1_000),
  audio: (name) => dataSteps(name, 'audio/wav', AUDIO_DATA, 900),
  again: () => [ABSENT, undefined, WORD_TOKENS],
  write: () => [ABSENT, undefined, WORD_TOKENS],
  long_write: () => [ABSENT, undefined, 4_000],
  variant: () => undefined,
  whole: () => undefined,
};

function canBe({ alternatives }: Name, kind: Name['alternatives'][number]['kind']): boolean {
  return alternatives.some((each) => each.kind === kind);
}

/** Text in a string, or in a field of an object that nobody knows. */
function textSteps(name: Name, tokens: number): Steps | undefined {
  const string = name.alternatives.find(({ kind }) => kind === 'string');
  const holder = (text: string) => {
    if (string !== undefined) return string.inArray ? [text] : text;
    const sample = name.sample();
    return isObject(sample) ? { ...sample, any: text } : undefined;
  };
  const [less, more] = [holder('x'), holder(WORDS)];
  return less === undefined ? undefined : [less, more, tokens];
}

/** Data in a string, or in the source of a block. */
function dataSteps(name: Name, type: string, data: string, tokens: number): Steps | undefined {
  if (canBe(name, 'string')) return [ABSENT, `data:${type};base64,${data}`, tokens];
  const isSource = name.alternatives.length > 1 && canBe(name, 'object');
  return isSource ? [ABSENT, { type: 'base64', media_type: type, data }, tokens] : undefined;
}
