/** Writes messages requests. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { type Findings, isEmptyValue, present, UNTRANSLATABLE } from '../findings.ts';
import { refuseImages } from '../modalities.ts';
import type { CacheHints, Format, NeutralRequest, Sourced } from '../request.ts';
import { thinkingWithin } from '../thinking-budget.ts';
import type { HostTerms } from '../translation.ts';
import { enforceable } from './enforceable-schema.ts';
import type { Block } from './messages-parts-writer.ts';
import { conversationOf, markCache } from './messages-turns-writer.ts';

export function writeMessagesRequest(request: NeutralRequest, terms: HostTerms, findings: Findings): Fields {
  const conversation = conversationOf(request.turns, findings);
  const tools = toolsOf(request);
  markCache(conversation, tools, request.cacheHints, terms.setsCachePoints === true);
  if (request.cacheHints !== undefined) noteCacheHints(request.cacheHints, findings);
  refuseUnsayable(request, findings);
  // Appended after the cache points, so that the cached prefix does not change.
  if (request.format.kind === 'json_object') conversation.system.push({ type: 'text', text: JSON_ONLY });
  const maximum = request.maxOutput ?? terms.maxOutput ?? terms.defaultOutput;
  const output = outputFields(request, maximum, findings);
  return present({
    model: request.model,
    stream: request.stream,
    max_tokens: maximum,
    system: conversation.system.length > 0 ? conversation.system : undefined,
    messages: conversation.messages,
    ...toolFields(tools, request),
    ...samplingFields(request, output.thinking, findings),
    stop_sequences: stopsOf(request.stops, findings),
    ...output,
    metadata: metadataOf(request, findings),
    service_tier: serviceTierOf(request.serviceTier, findings),
  });
}

function noteCacheHints({ retention, options }: CacheHints, findings: Findings): void {
  if (!isEmptyValue(retention)) findings.ignore('prompt_cache_retention');
  if (options?.ttl !== undefined) findings.ignore('prompt_cache_options.ttl');
}

function refuseUnsayable(
  { topLogprobs, logprobsField, metadata, verbosity, modalities, turns }: NeutralRequest,
  findings: Findings,
): void {
  refuseImages(modalities, turns.value, findings);
  if (topLogprobs !== undefined) findings.refuse(topLogprobs.field, `expected 0: ${UNTRANSLATABLE}`);
  if (logprobsField !== undefined) {
    findings.refuse(logprobsField, 'expected no logprobs, which the provider of this model does not give');
  }
  const isEmpty = metadata === undefined || (isObject(metadata) && Object.keys(metadata).length === 0);
  // Metadata are notes for another host's records.
  if (!isEmpty) findings.ignore('metadata');
  // Verbosity has no guaranteed effect.
  if (verbosity !== undefined && verbosity.value !== 'medium') findings.ignore(verbosity.field);
}

function toolsOf({ tools: offered }: NeutralRequest): Block[] {
  return offered.map(({ hostName, description, parameters, strict, cache }) => {
    const schema = { type: 'object', ...(parameters ?? { properties: {} }) };
    return present({
      name: hostName,
      description,
      input_schema: strict === true ? enforceable(schema) : schema,
      strict: strict === true || undefined,
      cache_control: cache?.value,
    });
  });
}

function toolFields(tools: readonly Block[], { choice, parallelCalls }: NeutralRequest): Fields {
  if (tools.length === 0) return {};
  if (choice?.kind === 'none') return { tools, tool_choice: { type: 'none' } };
  const serial = parallelCalls === false && { disable_parallel_tool_use: true };
  if (choice?.kind === 'named') return { tools, tool_choice: { type: 'tool', name: choice.hostName, ...serial } };
  if (choice?.kind === 'required') return { tools, tool_choice: { type: 'any', ...serial } };
  return { tools, ...(serial && { tool_choice: { type: 'auto', ...serial } }) };
}

/** Minimum `top_p` with thinking. Hosts reject lower values. */
const LEAST_THINKING_TOP_P = 0.95;

/** Sampling fields in this dialect. Hosts reject most of them with thinking, which takes precedence. */
export function samplingFields(
  { temperature, topP, topK }: NeutralRequest,
  thinking: Fields | undefined,
  findings: Findings,
): Fields {
  const isThinking = thinking !== undefined && thinking.type !== 'disabled';
  const kept = <Value>(setting: Sourced<Value> | undefined, isTaken: (value: Value) => boolean): Value | undefined => {
    if (setting === undefined || !isThinking || isTaken(setting.value)) return setting?.value;
    findings.ignore(setting.field);
    return undefined;
  };
  const written = {
    temperature: kept(temperature, (value) => value === 1),
    top_p: kept(topP, (value) => value >= LEAST_THINKING_TOP_P),
    top_k: kept(topK, () => false),
  };
  if (temperature !== undefined && (written.temperature ?? 0) > 1) {
    findings.refuse(temperature.field, 'expected at most 1, the maximum of the provider of this model');
  }
  if (topK !== undefined && !(Number.isSafeInteger(topK.value) && Number(topK.value) >= 1)) {
    findings.refuse(topK.field, 'expected a whole number of at least 1');
  }
  return written;
}

function stopsOf(stops: Sourced<readonly unknown[]> | undefined, findings: Findings): readonly unknown[] | undefined {
  if (stops?.value.some((sequence) => String(sequence).trim() === '')) {
    findings.refuse(stops.field, 'expected more than white space, at which the provider of this model cannot stop');
  }
  return stops?.value;
}

/** The host's effort levels. `minimal` is missing. */
export const EFFORTS: ReadonlyMap<unknown, string> = new Map([
  ['minimal', 'low'],
  ...['low', 'medium', 'high', 'xhigh', 'max'].map((level) => [level, level] as const),
]);

interface OutputFields {
  readonly thinking: Fields | undefined;
  readonly output_config: Fields | undefined;
}

function outputFields({ reasoning, format }: NeutralRequest, maximum: number, findings: Findings): OutputFields {
  const { effort, isShown, summaryField, thinking } = reasoning;
  const level = effort === undefined ? undefined : EFFORTS.get(effort.value);
  if (effort !== undefined && effort.value !== 'none' && level === undefined) {
    findings.refuse(effort.field, `expected one of none, ${[...EFFORTS.keys()].join(', ')}`);
  }
  // Without an effort the model does not think, so there is no summary.
  if (summaryField !== undefined && level === undefined) findings.ignore(summaryField);
  const output = present({ effort: level, format: formatOf(format) });
  return {
    thinking:
      thinking === undefined
        ? thinkingOf(effort?.value, level, isShown)
        : thinkingWithin(asked(thinking, effort, findings), maximum),
    output_config: Object.keys(output).length > 0 ? output : undefined,
  };
}

function thinkingOf(effort: unknown, level: string | undefined, isShown: boolean): Fields | undefined {
  if (effort === 'none') return { type: 'disabled' };
  // Newer models hide their thinking unless `display` is set.
  return level === undefined ? undefined : { type: 'adaptive', ...(isShown && { display: 'summarized' }) };
}

export const MESSAGES_THINKING: ReadonlySet<string> = new Set(['type', 'budget_tokens', 'display']);
const THINKING_TYPES: readonly unknown[] = ['enabled', 'adaptive', 'disabled'];

/** Reads `thinking` of this dialect. */
function asked(thinking: Fields, effort: Sourced<unknown> | undefined, findings: Findings): Fields {
  findings.expectOnly(MESSAGES_THINKING, thinking, 'thinking');
  if (!THINKING_TYPES.includes(thinking.type)) {
    findings.refuse('thinking.type', 'expected enabled, adaptive or disabled');
  }
  if (effort?.value === 'none' && thinking.type !== 'disabled') {
    findings.refuse(effort.field, 'expected more than none beside thinking');
  }
  return present(thinking);
}

/** Instruction for JSON output. Hosts of this dialect have no JSON mode; they recommend an instruction or a schema. */
export const JSON_ONLY =
  'Answer with one JSON object and nothing else: no text before or after it, and no Markdown fence around it.';

/** Schemas are always enforced and have no name. */
function formatOf(format: Format): Fields | undefined {
  if (format.kind !== 'json_schema') return undefined;
  const { schema, description } = format.definition;
  const described = typeof description === 'string' ? { description, ...schema } : schema;
  return { type: 'json_schema', schema: enforceable(described) };
}

function metadataOf({ user, safetyIdentifier }: NeutralRequest, findings: Findings): Fields | undefined {
  if (user !== undefined && safetyIdentifier !== undefined && user !== safetyIdentifier) {
    findings.refuse('user', 'expected the same as safety_identifier, or only one of them');
  }
  const id = safetyIdentifier ?? user;
  if (id === undefined) return undefined;
  return { user_id: findings.text(id, safetyIdentifier === undefined ? 'user' : 'safety_identifier') };
}

const SERVICE_TIERS: ReadonlyMap<unknown, string> = new Map([
  ['auto', 'auto'],
  ['default', 'standard_only'],
]);

function serviceTierOf(tier: unknown, findings: Findings): string | undefined {
  if (tier === undefined) return undefined;
  const translated = SERVICE_TIERS.get(tier);
  if (translated === undefined)
    findings.refuse('service_tier', 'expected auto or default; the provider of this model has no other');
  return translated;
}
