/** Translates a responses request to a chat request. */
import type { Fields } from '../../dialects/dialect.ts';
import type { Findings } from '../findings.ts';
import { readTurns } from '../responses/conversation.ts';
import { applyRules, type Rule, saidAs } from '../responses/field-rules.ts';
import type { TranslateRequest } from '../responses/responses-translation.ts';
import {
  asksForLogprobs,
  COMMON_RULES,
  readCacheOptions,
  readReasoning,
  readText,
  type TextSettings,
} from '../responses/settings.ts';
import { type ChosenTools, readToolChoice } from '../responses/tool-choice.ts';
import { readTools } from '../responses/tools.ts';
import { messagesOf } from './messages.ts';

const SAME =
  'model stream temperature top_p user safety_identifier metadata service_tier prompt_cache_key prompt_cache_retention';

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...COMMON_RULES,
  ...SAME.split(' ').map((name) => [name, saidAs(name)] as const),
  ['max_output_tokens', saidAs('max_tokens')],
  ['top_logprobs', (value) => (value === 0 ? {} : { logprobs: true, top_logprobs: value })],
  ['reasoning', sayReasoning],
  ['text', sayText],
  ['prompt_cache_options', sayCacheOptions],
]);

export const translateRequest: TranslateRequest = ({ body: { fields } }, _, findings) => {
  const tools = readTools(fields, findings);
  const turns = readTurns(fields, tools.names, findings);
  const said = applyRules(RULES, fields, findings);
  const chosen = readToolChoice(fields, tools, findings);
  return {
    fields: {
      ...said,
      ...(asksForLogprobs(fields) && { logprobs: true }),
      messages: messagesOf(turns, findings),
      ...toolFields(chosen, fields),
    },
    names: tools.names,
  };
};

/** Hosts refuse the other fields where there are no tools. */
function toolFields({ offered, choice }: ChosenTools, { parallel_tool_calls: parallel }: Fields): Fields {
  if (offered.length === 0) return {};
  const tools = offered.map(({ hostName, description, parameters, strict }) => ({
    type: 'function',
    function: {
      name: hostName,
      ...(description !== undefined && { description }),
      ...(parameters !== undefined && { parameters }),
      ...(strict !== undefined && { strict }),
    },
  }));
  const toolChoice = choice.kind === 'named' ? { type: 'function', function: { name: choice.hostName } } : choice.kind;
  return {
    tools,
    ...(choice.kind !== 'auto' && { tool_choice: toolChoice }),
    ...(typeof parallel === 'boolean' && { parallel_tool_calls: parallel }),
  };
}

function sayReasoning(reasoning: unknown, findings: Findings): Fields {
  const { effort, isShown } = readReasoning(reasoning, findings);
  if (isShown) findings.ignore('reasoning.summary');
  return effort === undefined ? {} : { reasoning_effort: effort };
}

function sayText(text: unknown, findings: Findings): Fields {
  const { format, verbosity } = readText(text, findings);
  return { ...formatFields(format), ...(verbosity !== undefined && { verbosity }) };
}

function formatFields(format: TextSettings['format']): Fields {
  if (format.kind === 'json_schema') {
    return { response_format: { type: 'json_schema', json_schema: format.definition } };
  }
  return format.kind === 'text' ? {} : { response_format: { type: format.kind } };
}

function sayCacheOptions(value: unknown, findings: Findings): Fields {
  const { ttl = '30m', ...options } = readCacheOptions(value, findings);
  if (ttl === '30m') return { prompt_cache_options: value };
  findings.ignore('prompt_cache_options.ttl');
  return { prompt_cache_options: options };
}
