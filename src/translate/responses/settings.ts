/** Reads the settings of a responses request that are objects, or the same for every host. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { type Findings, UNSAYABLE } from '../findings.ts';
import { ignored, onlyDefault, passedOver, type Rule } from './field-rules.ts';
import { expectShape, shapeOf } from './shape.ts';

/** What `include` may ask for that a host of another dialect can give. */
const LOGPROBS = 'message.output_text.logprobs';

export function asksForLogprobs({ include }: Fields): boolean {
  return Array.isArray(include) && include.includes(LOGPROBS);
}

/** The rest of it is about tools of the client's own host, or opaque. */
const include: Rule = (value, findings) => {
  if (!Array.isArray(value)) findings.refuse('include', 'expected an array');
  else if (value.some((each) => each !== LOGPROBS)) findings.ignore('include');
  return {};
};

/** The rules that are the same for every dialect of a host. */
export const COMMON_RULES: readonly (readonly [name: string, rule: Rule])[] = Object.entries<Rule>({
  input: passedOver,
  instructions: passedOver,
  tools: passedOver,
  tool_choice: passedOver,
  parallel_tool_calls: passedOver,
  store: onlyDefault('store', false),
  background: onlyDefault('background', false),
  truncation: onlyDefault('truncation', 'disabled'),
  include,
  // It limits the calls of tools that the client's own host runs: there are none.
  max_tool_calls: ignored('max_tool_calls'),
  context_management: ignored('context_management'),
  client_metadata: ignored('client_metadata'),
  stream_options: streamOptions,
});

const STREAM_OPTIONS = shapeOf('stream_options', '', 'include_obfuscation');

function streamOptions(value: unknown, findings: Findings): Fields {
  if (isObject(value)) expectShape(STREAM_OPTIONS, value, 'stream_options', findings);
  else findings.refuse('stream_options', 'expected an object');
  return {};
}

const CACHE_OPTIONS = shapeOf('prompt_cache_options', 'mode ttl');

/** Reads `prompt_cache_options`. */
export function readCacheOptions(value: unknown, findings: Findings): Fields {
  if (isObject(value)) expectShape(CACHE_OPTIONS, value, 'prompt_cache_options', findings);
  else findings.refuse('prompt_cache_options', 'expected an object');
  return isObject(value) ? value : {};
}

export interface Reasoning {
  readonly effort: string | undefined;
  /** Whether the client wants to read a summary. */
  readonly isShown: boolean;
}

const REASONING = shapeOf('reasoning', 'effort summary mode', 'generate_summary context');

/** Reads `reasoning`. */
export function readReasoning(reasoning: unknown, findings: Findings): Reasoning {
  if (!isObject(reasoning)) {
    findings.refuse('reasoning', 'expected an object');
    return { effort: undefined, isShown: false };
  }
  expectShape(REASONING, reasoning, 'reasoning', findings);
  const { effort, summary, mode } = reasoning;
  if (mode !== undefined && mode !== null && mode !== 'standard') findings.refuse('reasoning.mode', UNSAYABLE);
  const hasEffort = effort !== undefined && effort !== null;
  return {
    effort: hasEffort ? findings.text(effort, 'reasoning.effort') : undefined,
    isShown: summary !== undefined && summary !== null,
  };
}

export type Format =
  | { readonly kind: 'text' | 'json_object' }
  /** `definition`: with name, schema, and description and strict if they are there. */
  | { readonly kind: 'json_schema'; readonly definition: Fields & { readonly schema: Fields } };

export interface TextSettings {
  readonly format: Format;
  readonly verbosity: unknown;
}

const TEXT = shapeOf('text', 'format verbosity');
const SIMPLE_FORMAT = shapeOf('text.format', 'type');
const SCHEMA_FORMAT = shapeOf('text.format', 'type name description schema strict');

/** Reads `text`. */
export function readText(text: unknown, findings: Findings): TextSettings {
  const plain: Format = { kind: 'text' };
  if (!isObject(text)) {
    findings.refuse('text', 'expected an object');
    return { format: plain, verbosity: undefined };
  }
  expectShape(TEXT, text, 'text', findings);
  const { format, verbosity } = text;
  const hasFormat = format !== undefined && format !== null;
  return { format: hasFormat ? readFormat(format, findings) : plain, verbosity: verbosity ?? undefined };
}

function readFormat(format: unknown, findings: Findings): Format {
  const type = isObject(format) ? format.type : undefined;
  if (isObject(format) && (type === 'text' || type === 'json_object')) {
    expectShape(SIMPLE_FORMAT, format, 'text.format', findings);
    return { kind: type };
  }
  if (isObject(format) && type === 'json_schema') {
    expectShape(SCHEMA_FORMAT, format, 'text.format', findings);
    const { type: _, schema, ...definition } = format;
    findings.text(format.name, 'text.format.name');
    if (!isObject(schema)) findings.refuse('text.format.schema', 'expected an object');
    return { kind: 'json_schema', definition: { ...definition, schema: isObject(schema) ? schema : {} } };
  }
  findings.refuse('text.format.type', 'expected text, json_schema or json_object');
  return { kind: 'text' };
}
