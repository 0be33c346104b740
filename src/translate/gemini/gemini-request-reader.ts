/** Reads Gemini requests, field by field. */
import { isObject, objectOf } from '../../core/json.ts';
import type { Fields, ModelRequest } from '../../dialects/dialect.ts';
import { configOf, listOf } from '../../dialects/gemini/gemini-fields.ts';
import { type Findings, isEmptyValue, UNTRANSLATABLE } from '../findings.ts';
import { readModalities } from '../modalities.ts';
import { type Format, type Reasoning, sourced } from '../request.ts';
import { effortOfBudget } from '../thinking-budget.ts';
import type { HostTerms, ReadRequest } from '../translation.ts';
import { GeminiWriter, PieceWriter } from './gemini-answer-writer.ts';
import { readTools } from './gemini-tools-reader.ts';
import { readTurns } from './gemini-turns-reader.ts';
import { jsonSchemaOf } from './json-schema.ts';

export function readGeminiRequest(request: ModelRequest, terms: HostTerms, findings: Findings): ReadRequest {
  const { fields } = request.body;
  findings.expectOnly(KNOWN_FIELDS, fields, '');
  for (const name of IGNORED) if (!isEmptyValue(fields[name])) findings.ignore(name);
  const config = configOf(fields);
  checkConfig(config, findings);
  if (request.choices > 1) {
    findings.refuse('generationConfig.candidateCount', 'expected 1; the provider of this model gives one answer');
  }
  const reasoning = readReasoning(config.thinkingConfig, findings);
  const stops = listOf(config.stopSequences);
  const neutral = {
    model: request.model,
    stream: request.stream || undefined,
    turns: { value: readTurns(fields, findings), field: 'contents' },
    ...readTools(fields, terms, findings),
    maxOutput: request.maxOutput,
    temperature: sourced(config.temperature as number | undefined, 'generationConfig.temperature'),
    topP: sourced(config.topP as number | undefined, 'generationConfig.topP'),
    topK: sourced(config.topK, 'generationConfig.topK'),
    stops: stops.length > 0 ? { value: stops, field: 'generationConfig.stopSequences' } : undefined,
    reasoning,
    modalities: readModalities(listOf(config.responseModalities), 'generationConfig.responseModalities', findings),
    format: readFormat(config, findings),
    user: undefined,
    serviceTier: request.serviceTier,
  };
  const options = { model: request.model, showsThoughts: reasoning.isShown };
  return {
    request: neutral,
    writers: {
      whole: (context) => new GeminiWriter(options, context),
      stream: (context) => new PieceWriter(options, context),
    },
  };
}

/** Google's content filters, and labels for its bills. */
const IGNORED: readonly string[] = ['safetySettings', 'labels'];

const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  ...['model', 'stream', 'contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig', 'serviceTier'],
  ...['store', ...IGNORED],
]);

/** Fields without a guaranteed effect on the answer, and image resolution. */
const TENDENCIES: readonly string[] = ['seed', 'presencePenalty', 'frequencyPenalty', 'mediaResolution'];

const CONFIG_FIELDS: ReadonlySet<string> = new Set([
  ...['maxOutputTokens', 'candidateCount', 'temperature', 'topP', 'topK', 'stopSequences', 'thinkingConfig'],
  ...['responseMimeType', 'responseSchema', 'responseJsonSchema', 'responseModalities', ...TENDENCIES],
]);

function checkConfig(config: Fields, findings: Findings): void {
  const where = 'generationConfig';
  const { responseLogprobs: logprobs, ...others } = config;
  if (logprobs === true) findings.refuse(`${where}.responseLogprobs`, UNTRANSLATABLE);
  findings.expectOnly(CONFIG_FIELDS, others, where);
  for (const name of TENDENCIES) if (!isEmptyValue(config[name])) findings.ignore(`${where}.${name}`);
}

const LEVELS: ReadonlyMap<unknown, string> = new Map([
  ['MINIMAL', 'minimal'],
  ['LOW', 'low'],
  ['MEDIUM', 'medium'],
  ['HIGH', 'high'],
]);
const UNSPECIFIED = 'THINKING_LEVEL_UNSPECIFIED';
const THINKING: ReadonlySet<string> = new Set(['thinkingLevel', 'thinkingBudget', 'includeThoughts']);

function readReasoning(value: unknown, findings: Findings): Reasoning {
  const field = 'generationConfig.thinkingConfig';
  const config = objectOf(value);
  findings.expectOnly(THINKING, config, field);
  const { thinkingLevel: level, thinkingBudget: budget, includeThoughts } = config;
  const isShown = findings.flag(includeThoughts, `${field}.includeThoughts`) === true;
  if (budget === 0) return { effort: undefined, isShown, offField: field };
  const name = typeof level === 'string' ? level.toUpperCase() : UNSPECIFIED;
  if (name !== UNSPECIFIED && !LEVELS.has(name)) {
    findings.refuse(`${field}.thinkingLevel`, `expected one of ${[...LEVELS.keys()].join(', ')}`);
  }
  // A negative budget means automatic.
  const effort = LEVELS.get(name) ?? (Number(budget) > 0 ? effortOfBudget(budget) : undefined);
  return { effort: effort === undefined ? undefined : { value: effort, field }, isShown };
}

function readFormat(config: Fields, findings: Findings): Format {
  const { responseMimeType: type = 'text/plain', responseSchema: own, responseJsonSchema: schema } = config;
  if (type === 'text/plain' || type === null) return { kind: 'text' };
  if (type !== 'application/json') {
    findings.refuse('generationConfig.responseMimeType', 'expected text/plain or application/json');
  }
  const given = isObject(schema) ? schema : isObject(own) ? jsonSchemaOf(own) : undefined;
  // The format has no schema name, and schemas are always strict.
  return given === undefined
    ? { kind: 'json_object' }
    : { kind: 'json_schema', definition: { name: 'answer', schema: given } };
}
