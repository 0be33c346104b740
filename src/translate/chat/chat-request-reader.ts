/** Reads chat requests. Each top-level field is read, ignored on purpose, or refused. */
import { isObject } from '../../core/json.ts';
import { printableName } from '../../core/printable.ts';
import type { Fields, ModelRequest } from '../../dialects/dialect.ts';
import { type Findings, present, UNTRANSLATABLE } from '../findings.ts';
import { readModalities } from '../modalities.ts';
import { type Format, type Sourced, sourced } from '../request.ts';
import type { HostTerms, ReadRequest } from '../translation.ts';
import { ChunkWriter, type CompletionOptions, CompletionWriter } from './chat-answer-writer.ts';
import { readTools } from './chat-tools-reader.ts';
import { readTurns } from './chat-turns-reader.ts';

export function readChatRequest(request: ModelRequest, _: HostTerms, findings: Findings): ReadRequest {
  // Null means absent for all fields.
  const fields = present(request.body.fields);
  for (const [name, value] of Object.entries(fields)) checkField(name, value, findings);
  if (request.choices > 1) findings.refuse('n', 'expected 1; the provider of this model gives one answer');
  const { model, includeUsage } = request;
  const { offered, choice, parallelCalls, ...style } = readTools(fields, findings);
  const options: CompletionOptions = { model, includeUsage, ...style };
  return {
    request: {
      model,
      stream: request.stream || undefined,
      turns: { value: readTurns(fields.messages as readonly Fields[], findings), field: 'messages' },
      tools: offered,
      choice,
      parallelCalls,
      maxOutput: request.maxOutput,
      temperature: sourced(fields.temperature as number | undefined, 'temperature'),
      topP: sourced(fields.top_p as number | undefined, 'top_p'),
      topK: sourced(fields.top_k, 'top_k'),
      stops: readStops(fields.stop),
      reasoning: {
        effort: sourced(fields.reasoning_effort, 'reasoning_effort'),
        thinking: findings.object(fields.thinking, 'thinking'),
        isShown: true,
      },
      modalities: readModalities(fields.modalities, 'modalities', findings),
      format: readFormat(fields.response_format, findings),
      verbosity: sourced(fields.verbosity, 'verbosity'),
      user: fields.user,
      safetyIdentifier: fields.safety_identifier,
      metadata: fields.metadata,
      serviceTier: fields.service_tier,
    },
    writers: {
      whole: (context) => new CompletionWriter(options, context),
      stream: (context) => new ChunkWriter(options, context),
    },
  };
}

/** Fields read here or earlier (`stream_options` and `n`). */
const READ: ReadonlySet<string> = new Set([
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
  'top_k',
  'stop',
  'reasoning_effort',
  'thinking',
  'verbosity',
  'metadata',
  'response_format',
  'modalities',
  'user',
  'safety_identifier',
  'service_tier',
]);

/** Fields without a guaranteed effect on the answer. */
const IGNORED: ReadonlySet<string> = new Set([
  'seed',
  'presence_penalty',
  'frequency_penalty',
  // Cache hints; other dialects use different mechanisms.
  'prompt_cache_key',
  'prompt_cache_retention',
]);

/** Values without an effect. */
const NEUTRAL: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['presence_penalty', (value: unknown) => value === 0],
  ['frequency_penalty', (value: unknown) => value === 0],
  ['logprobs', (value: unknown) => value === false],
  ['top_logprobs', (value: unknown) => value === 0],
  ['logit_bias', isEmptyObject],
  ['store', (value: unknown) => value === false],
]);

function isEmptyObject(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}

function checkField(name: string, value: unknown, findings: Findings): void {
  if (READ.has(name) || NEUTRAL.get(name)?.(value)) return;
  if (IGNORED.has(name)) findings.ignore(name);
  else findings.refuse(printableName(name), UNTRANSLATABLE);
}

function readStops(stop: unknown): Sourced<readonly unknown[]> | undefined {
  if (stop === undefined) return undefined;
  return { value: Array.isArray(stop) ? stop : [stop], field: 'stop' };
}

function readFormat(format: unknown, findings: Findings): Format {
  if (format === undefined) return { kind: 'text' };
  const type = isObject(format) ? format.type : undefined;
  if (!isObject(format) || (type !== 'text' && type !== 'json_object' && type !== 'json_schema')) {
    findings.refuse(
      'response_format.type',
      'expected json_schema, json_object or text; the provider of this model has no other format',
    );
    return { kind: 'text' };
  }
  findings.expectOnly(new Set(['type', type]), format, 'response_format');
  return type !== 'json_schema'
    ? { kind: type }
    : readSchema(format.json_schema, 'response_format.json_schema', findings);
}

const SCHEMA_FIELDS: ReadonlySet<string> = new Set(['name', 'description', 'schema', 'strict']);

function readSchema(value: unknown, where: string, findings: Findings): Format {
  if (!isObject(value) || !isObject(value.schema)) {
    findings.refuse(`${where}.schema`, 'expected an object');
    return { kind: 'text' };
  }
  findings.expectOnly(SCHEMA_FIELDS, value, where);
  const { description: given, schema, ...definition } = value;
  const description = findings.text(given ?? '', `${where}.description`);
  return { kind: 'json_schema', definition: { ...definition, ...(description !== '' && { description }), schema } };
}
