/** Translates requests: every field at the top level is translated, ignored by intent, or refused. */
import { isObject } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields, ModelRequest } from '../../dialects/dialect.ts';
import { type Findings, UNSAYABLE } from '../findings.ts';
import type { HostTerms } from '../translation.ts';
import { translateMessages } from './conversation.ts';
import { enforceable } from './schema.ts';
import { type CallStyle, translateTools } from './tools.ts';

export interface TranslatedFields {
  readonly fields: Fields;
  readonly style: CallStyle;
}

/** What cannot be said is in `findings`. */
export function translateFields(request: ModelRequest, terms: HostTerms, findings: Findings): TranslatedFields {
  const fields = present(request.body.fields);
  for (const [name, value] of Object.entries(fields)) checkField(name, value, findings);
  if (request.choices > 1) findings.refuse('n', 'expected 1; the provider of this model gives one answer');
  const tools = translateTools(fields, findings);
  return {
    style: tools.style,
    fields: {
      model: request.model,
      ...(request.stream && { stream: true }),
      max_tokens: request.maxOutput ?? terms.maxOutput ?? terms.defaultOutput,
      ...translateMessages(fields.messages as readonly Fields[], findings),
      ...tools.fields,
      ...readSampling(fields, findings),
      ...readStop(fields.stop, findings),
      ...readThinking(fields, findings),
      ...readUser(fields, findings),
      ...readServiceTier(fields.service_tier, findings),
    },
  };
}

/** Null counts as absent everywhere. */
function present(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** Translated here, or read before: `stream_options` and `n`. */
const TRANSLATED: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'functions',
  'function_call',
  'temperature',
  'top_p',
  'stop',
  'reasoning_effort',
  'response_format',
  'user',
  'safety_identifier',
  'service_tier',
]);

/** They ask for a tendency, which no answer can be held to. */
const IGNORED: ReadonlySet<string> = new Set([
  'seed',
  'presence_penalty',
  'frequency_penalty',
  // Hints for a cache that this dialect has other means for.
  'prompt_cache_key',
  'prompt_cache_retention',
]);

/** Values that ask for nothing. */
const NEUTRAL: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['presence_penalty', (value: unknown) => value === 0],
  ['frequency_penalty', (value: unknown) => value === 0],
  ['logprobs', (value: unknown) => value === false],
  ['top_logprobs', (value: unknown) => value === 0],
  ['logit_bias', isEmptyObject],
  ['metadata', isEmptyObject],
  ['store', (value: unknown) => value === false],
  ['verbosity', (value: unknown) => value === 'medium'],
  ['modalities', (value: unknown) => Array.isArray(value) && value.length === 1 && value[0] === 'text'],
]);

function isEmptyObject(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

function checkField(name: string, value: unknown, findings: Findings): void {
  if (TRANSLATED.has(name) || NEUTRAL.get(name)?.(value)) return;
  if (IGNORED.has(name)) findings.ignore(name);
  else findings.refuse(printableName(name), UNSAYABLE);
}

function readSampling({ temperature, top_p: topP }: Fields, findings: Findings): Fields {
  if (typeof temperature === 'number' && temperature > 1) {
    findings.refuse('temperature', 'expected at most 1, the maximum of the provider of this model');
  }
  return { ...(temperature !== undefined && { temperature }), ...(topP !== undefined && { top_p: topP }) };
}

function readStop(stop: unknown, findings: Findings): Fields {
  if (stop === undefined) return {};
  const sequences: readonly unknown[] = Array.isArray(stop) ? stop : [stop];
  if (sequences.some((sequence) => String(sequence).trim() === '')) {
    findings.refuse('stop', 'expected more than white space, at which the provider of this model cannot stop');
  }
  return { stop_sequences: sequences };
}

/** The host's names of the levels. It has no `minimal`. */
const EFFORTS: ReadonlyMap<unknown, string> = new Map([
  ['minimal', 'low'],
  ...['low', 'medium', 'high', 'xhigh', 'max'].map((level) => [level, level] as const),
]);

/** The fields `thinking` and `output_config`. */
function readThinking({ reasoning_effort: effort, response_format: format }: Fields, findings: Findings): Fields {
  const level = EFFORTS.get(effort);
  if (effort !== undefined && effort !== 'none' && level === undefined) {
    findings.refuse('reasoning_effort', `expected one of none, ${[...EFFORTS.keys()].join(', ')}`);
  }
  const output = { ...(level !== undefined && { effort: level }), ...readFormat(format, findings) };
  return {
    ...(effort === 'none' && { thinking: { type: 'disabled' } }),
    // Without `display`, newer models keep their thinking to themselves.
    ...(level !== undefined && { thinking: { type: 'adaptive', display: 'summarized' } }),
    ...(Object.keys(output).length > 0 && { output_config: output }),
  };
}

/** The host enforces every schema, and needs no name for it. */
const SCHEMA_FIELDS: ReadonlySet<string> = new Set(['name', 'description', 'schema', 'strict']);

function readFormat(format: unknown, findings: Findings): Fields {
  if (format === undefined) return {};
  const type = isObject(format) ? format.type : undefined;
  if (!isObject(format) || (type !== 'text' && type !== 'json_schema')) {
    findings.refuse(
      'response_format.type',
      'expected json_schema or text; the provider of this model has no other format',
    );
    return {};
  }
  findings.expectOnly(new Set(['type', type]), format, 'response_format');
  return type === 'text' ? {} : readSchema(format.json_schema, 'response_format.json_schema', findings);
}

function readSchema(definition: unknown, where: string, findings: Findings): Fields {
  if (!isObject(definition) || !isObject(definition.schema)) {
    findings.refuse(`${where}.schema`, 'expected an object');
    return {};
  }
  findings.expectOnly(SCHEMA_FIELDS, definition, where);
  const { schema } = definition;
  const description = findings.text(definition.description ?? '', `${where}.description`);
  return {
    format: { type: 'json_schema', schema: enforceable(description === '' ? schema : { description, ...schema }) },
  };
}

function readUser({ user, safety_identifier: identifier }: Fields, findings: Findings): Fields {
  if (user !== undefined && identifier !== undefined && user !== identifier) {
    findings.refuse('user', 'expected the same as safety_identifier, or only one of them');
  }
  const id = identifier ?? user;
  if (id === undefined) return {};
  return { metadata: { user_id: findings.text(id, identifier === undefined ? 'user' : 'safety_identifier') } };
}

const SERVICE_TIERS: ReadonlyMap<unknown, string> = new Map([
  ['auto', 'auto'],
  ['default', 'standard_only'],
]);

function readServiceTier(tier: unknown, findings: Findings): Fields {
  if (tier === undefined) return {};
  const translated = SERVICE_TIERS.get(tier);
  if (translated === undefined)
    findings.refuse('service_tier', 'expected auto or default; the provider of this model has no other');
  return { service_tier: translated };
}
