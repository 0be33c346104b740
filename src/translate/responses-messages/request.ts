/** Translates a responses request to a messages request. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { enforceable } from '../chat-messages/schema.ts';
import { type Findings, UNSAYABLE } from '../findings.ts';
import { readTurns } from '../responses/conversation.ts';
import { applyRules, ignored, onlyDefault, passedOver, type Rule, saidAs } from '../responses/field-rules.ts';
import type { TranslateRequest } from '../responses/responses-translation.ts';
import { asksForLogprobs, COMMON_RULES, readCacheOptions, readReasoning, readText } from '../responses/settings.ts';
import { type ChosenTools, readToolChoice } from '../responses/tool-choice.ts';
import { readTools } from '../responses/tools.ts';
import { markCache } from './cache.ts';
import { conversationOf } from './messages.ts';

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...COMMON_RULES,
  ...Object.entries<Rule>({
    model: saidAs('model'),
    stream: saidAs('stream'),
    temperature: sayTemperature,
    top_p: saidAs('top_p'),
    top_logprobs: onlyDefault('top_logprobs', 0),
    max_output_tokens: passedOver,
    reasoning: passedOver,
    text: passedOver,
    user: passedOver,
    safety_identifier: passedOver,
    metadata: sayMetadata,
    service_tier: sayServiceTier,
    prompt_cache_key: passedOver,
    prompt_cache_retention: ignored('prompt_cache_retention'),
    prompt_cache_options: sayCacheOptions,
  }),
]);

export const translateRequest: TranslateRequest = ({ body: { fields }, maxOutput }, terms, findings) => {
  const tools = readTools(fields, findings);
  const turns = readTurns(fields, tools.names, findings);
  const said = applyRules(RULES, fields, findings);
  const chosen = readToolChoice(fields, tools, findings);
  const conversation = conversationOf(turns, findings);
  markCache(conversation, fields);
  if (asksForLogprobs(fields))
    findings.refuse('include', 'expected no logprobs, which the provider of this model does not give');
  return {
    fields: {
      ...said,
      max_tokens: maxOutput ?? terms.maxOutput ?? terms.defaultOutput,
      ...(conversation.system.length > 0 && { system: conversation.system }),
      messages: conversation.messages,
      ...toolFields(chosen, fields),
      ...outputFields(fields, findings),
      ...userFields(fields, findings),
    },
    names: tools.names,
  };
};

function toolFields({ offered, choice }: ChosenTools, { parallel_tool_calls: parallel }: Fields): Fields {
  if (offered.length === 0) return {};
  const tools = offered.map(({ hostName, description, parameters, strict }) => {
    const schema = { type: 'object', ...(parameters ?? { properties: {} }) };
    return {
      name: hostName,
      ...(description !== undefined && { description }),
      input_schema: strict === true ? enforceable(schema) : schema,
      ...(strict === true && { strict }),
    };
  });
  if (choice.kind === 'none') return { tools, tool_choice: { type: 'none' } };
  const serial = parallel === false && { disable_parallel_tool_use: true };
  if (choice.kind === 'named') return { tools, tool_choice: { type: 'tool', name: choice.hostName, ...serial } };
  if (choice.kind === 'required') return { tools, tool_choice: { type: 'any', ...serial } };
  return { tools, ...(serial && { tool_choice: { type: 'auto', ...serial } }) };
}

/** The host's names of the levels. It has no `minimal`. */
const EFFORTS: ReadonlyMap<string, string> = new Map([
  ['minimal', 'low'],
  ...['low', 'medium', 'high', 'xhigh', 'max'].map((level) => [level, level] as const),
]);

/** The fields `thinking` and `output_config`. */
function outputFields({ reasoning, text }: Fields, findings: Findings): Fields {
  const { effort, isShown } = readReasoning(reasoning ?? {}, findings);
  const level = effort === undefined ? undefined : EFFORTS.get(effort);
  if (effort !== undefined && effort !== 'none' && level === undefined) {
    findings.refuse('reasoning.effort', `expected one of none, ${[...EFFORTS.keys()].join(', ')}`);
  }
  // Only a model that is asked to think does so.
  if (isShown && level === undefined) findings.ignore('reasoning.summary');
  const output = { ...(level !== undefined && { effort: level }), ...formatFields(text, findings) };
  return {
    ...(effort === 'none' && { thinking: { type: 'disabled' } }),
    ...(level !== undefined && { thinking: { type: 'adaptive', ...(isShown && { display: 'summarized' }) } }),
    ...(Object.keys(output).length > 0 && { output_config: output }),
  };
}

/** The host enforces every schema, and needs no name for it. */
function formatFields(text: unknown, findings: Findings): Fields {
  const { format, verbosity } = readText(text ?? {}, findings);
  // A tendency, which no answer can be held to.
  if (verbosity !== undefined && verbosity !== 'medium') findings.ignore('text.verbosity');
  if (format.kind === 'json_schema') {
    const { schema, description } = format.definition;
    const described = typeof description === 'string' ? { description, ...schema } : schema;
    return { format: { type: 'json_schema', schema: enforceable(described) } };
  }
  if (format.kind === 'json_object') {
    findings.refuse('text.format.type', 'expected json_schema or text; the provider of this model has no other format');
  }
  return {};
}

function sayTemperature(value: unknown, findings: Findings): Fields {
  if (typeof value === 'number' && value > 1) {
    findings.refuse('temperature', 'expected at most 1, the maximum of the provider of this model');
  }
  return { temperature: value };
}

function userFields({ user, safety_identifier: identifier }: Fields, findings: Findings): Fields {
  const ids = [identifier, user].filter((id) => id !== undefined && id !== null);
  if (ids.length === 2 && user !== identifier) {
    findings.refuse('user', 'expected the same as safety_identifier, or only one of them');
  }
  return ids.length === 0 ? {} : { metadata: { user_id: findings.text(ids[0], 'user') } };
}

function sayMetadata(value: unknown, findings: Findings): Fields {
  if (!isObject(value) || Object.keys(value).length > 0) findings.refuse('metadata', UNSAYABLE);
  return {};
}

const SERVICE_TIERS: ReadonlyMap<unknown, string> = new Map([
  ['auto', 'auto'],
  ['default', 'standard_only'],
]);

function sayServiceTier(value: unknown, findings: Findings): Fields {
  const tier = SERVICE_TIERS.get(value);
  if (tier === undefined)
    findings.refuse('service_tier', 'expected auto or default; the provider of this model has no other');
  return { service_tier: tier };
}

function sayCacheOptions(value: unknown, findings: Findings): Fields {
  if (readCacheOptions(value, findings).ttl !== undefined) findings.ignore('prompt_cache_options.ttl');
  return {};
}
