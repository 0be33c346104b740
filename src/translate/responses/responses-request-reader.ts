/** Reads responses requests. Each top-level field is read, ignored on purpose, or refused. */
import { isObject, objectOf } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields, ModelRequest } from '../../dialects/dialect.ts';
import { type Findings, present, UNTRANSLATABLE } from '../findings.ts';
import { readModalities } from '../modalities.ts';
import { type Format, type NeutralRequest, type Reasoning, sourced } from '../request.ts';
import type { HostTerms, ReadRequest } from '../translation.ts';
import { ResponseWriter } from './responses-answer-writer.ts';
import { readToolChoice, readTools } from './responses-tools-reader.ts';
import { readTurns } from './responses-turns-reader.ts';
import { expectShape, isUnset, shapeOf } from './shape.ts';

export function readResponsesRequest(request: ModelRequest, terms: HostTerms, findings: Findings): ReadRequest {
  const { model } = request;
  const fields = present(request.body.fields);
  const tools = readTools(fields, terms, findings);
  const turns = readTurns(fields, tools.names, findings);
  for (const [name, value] of Object.entries(fields)) {
    if (!READ.has(name)) (RULES.get(name) ?? refused(name))(value, findings);
  }
  const { offered, choice } = readToolChoice(fields, tools, findings);
  const { parallel_tool_calls: parallel, stream } = fields;
  const source = { request: { ...request.body.fields, model }, names: tools.names };
  return {
    request: {
      model,
      stream: stream as boolean | undefined,
      turns: { value: turns, field: 'input' },
      tools: offered,
      choice,
      parallelCalls: typeof parallel === 'boolean' ? parallel : undefined,
      maxOutput: request.maxOutput,
      ...readSettings(fields, findings),
    },
    writers: {
      whole: (context) => new ResponseWriter(source, context, { isStream: false }),
      stream: (context) => new ResponseWriter(source, context, { isStream: true }),
    },
  };
}

type Settings = Omit<NeutralRequest, 'model' | 'stream' | 'turns' | 'tools' | 'choice' | 'parallelCalls' | 'maxOutput'>;

function readSettings(fields: Fields, findings: Findings): Settings {
  const { format, verbosity } = readText(fields.text ?? {}, findings);
  const { top_logprobs: topLogprobs, prompt_cache_options: options } = fields;
  return {
    temperature: sourced(fields.temperature as number | undefined, 'temperature'),
    topP: sourced(fields.top_p as number | undefined, 'top_p'),
    reasoning: readReasoning(fields.reasoning ?? {}, findings),
    modalities: readModalities(fields.modalities, 'modalities', findings),
    format,
    verbosity: verbosity === undefined ? undefined : { value: verbosity, field: 'text.verbosity' },
    user: fields.user,
    safetyIdentifier: fields.safety_identifier,
    metadata: fields.metadata,
    serviceTier: fields.service_tier,
    logprobsField: asksForLogprobs(fields) ? 'include' : undefined,
    topLogprobs: (topLogprobs ?? 0) === 0 ? undefined : { value: topLogprobs, field: 'top_logprobs' },
    cacheHints: {
      key: fields.prompt_cache_key,
      retention: fields.prompt_cache_retention,
      options: options === undefined ? undefined : readCacheOptions(options, findings),
    },
  };
}

/** Fields with their own readers. */
const READ: ReadonlySet<string> = new Set(
  [
    'model stream input instructions tools tool_choice parallel_tool_calls max_output_tokens temperature top_p',
    'reasoning text user safety_identifier metadata service_tier top_logprobs modalities',
    'prompt_cache_key prompt_cache_retention prompt_cache_options',
  ].flatMap((names) => names.split(' ')),
);

/** Handling of an untranslated field, whose value is not null. */
type Rule = (value: unknown, findings: Findings) => void;

function refused(name: string): Rule {
  return (_, findings) => findings.refuse(printableName(name), UNTRANSLATABLE);
}

function ignored(name: string): Rule {
  return (value, findings) => {
    if (!isUnset(value)) findings.ignore(name);
  };
}

/** Accepts only the value that is the default of hosts. */
function only(name: string, usual: unknown): Rule {
  return (value, findings) => {
    if (value !== usual) findings.refuse(name, `expected ${usual}: ${UNTRANSLATABLE}`);
  };
}

const RULES: ReadonlyMap<string, Rule> = new Map(
  Object.entries<Rule>({
    store: only('store', false),
    background: only('background', false),
    truncation: only('truncation', 'disabled'),
    include,
    // Limits host-run tools only, and there are no such tools here.
    max_tool_calls: ignored('max_tool_calls'),
    context_management: ignored('context_management'),
    client_metadata: ignored('client_metadata'),
    stream_options: streamOptions,
  }),
);

/** Value of `include` that can be translated. */
const LOGPROBS = 'message.output_text.logprobs';

function asksForLogprobs({ include }: Fields): boolean {
  return Array.isArray(include) && include.includes(LOGPROBS);
}

/** Ignores other values, which concern host-run tools or opaque data. */
function include(value: unknown, findings: Findings): void {
  if (!Array.isArray(value)) findings.refuse('include', 'expected an array');
  else if (value.some((each) => each !== LOGPROBS)) findings.ignore('include');
}

const STREAM_OPTIONS = shapeOf('stream_options', '', 'include_obfuscation');

function streamOptions(value: unknown, findings: Findings): void {
  if (isObject(value)) expectShape(STREAM_OPTIONS, value, 'stream_options', findings);
  else findings.refuse('stream_options', 'expected an object');
}

const CACHE_OPTIONS = shapeOf('prompt_cache_options', 'mode ttl');

function readCacheOptions(value: unknown, findings: Findings): Fields {
  if (isObject(value)) expectShape(CACHE_OPTIONS, value, 'prompt_cache_options', findings);
  else findings.refuse('prompt_cache_options', 'expected an object');
  return objectOf(value);
}

const REASONING = shapeOf('reasoning', 'effort summary mode', 'generate_summary context');

function readReasoning(reasoning: unknown, findings: Findings): Reasoning {
  if (!isObject(reasoning)) {
    findings.refuse('reasoning', 'expected an object');
    return { effort: undefined, isShown: false };
  }
  expectShape(REASONING, reasoning, 'reasoning', findings);
  const { effort, summary, mode } = reasoning;
  if (mode !== undefined && mode !== null && mode !== 'standard') findings.refuse('reasoning.mode', UNTRANSLATABLE);
  const hasEffort = effort !== undefined && effort !== null;
  const isShown = summary !== undefined && summary !== null;
  return {
    effort: hasEffort ? { value: findings.text(effort, 'reasoning.effort'), field: 'reasoning.effort' } : undefined,
    isShown,
    summaryField: isShown ? 'reasoning.summary' : undefined,
  };
}

interface TextSettings {
  readonly format: Format;
  readonly verbosity: unknown;
}

const TEXT = shapeOf('text', 'format verbosity');
const SIMPLE_FORMAT = shapeOf('text.format', 'type');
const SCHEMA_FORMAT = shapeOf('text.format', 'type name description schema strict');

function readText(text: unknown, findings: Findings): TextSettings {
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
    return { kind: 'json_schema', definition: { ...definition, schema: objectOf(schema) } };
  }
  findings.refuse('text.format.type', 'expected text, json_schema or json_object');
  return { kind: 'text' };
}
