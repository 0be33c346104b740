/** Writes chat requests. */
import type { Fields } from '../../dialects/dialect.ts';
import { type Findings, present } from '../findings.ts';
import type { CacheHints, Format, NeutralRequest, Reasoning } from '../request.ts';
import type { HostTerms } from '../translation.ts';
import { messagesOf } from './chat-turns-writer.ts';

export function writeChatRequest(request: NeutralRequest, _: HostTerms, findings: Findings): Fields {
  const { topLogprobs, logprobsField, topK } = request;
  // Few hosts support it; others reject the request.
  if (topK !== undefined) findings.ignore(topK.field);
  return present({
    model: request.model,
    stream: request.stream,
    messages: messagesOf(request.turns.value, findings),
    ...toolFields(request),
    max_tokens: request.maxOutput,
    temperature: request.temperature?.value,
    top_p: request.topP?.value,
    stop: findings.atMost(MAX_STOPS, request.stops),
    ...reasoningFields(request.reasoning, findings),
    ...formatFields(request.format),
    modalities: request.modalities?.value,
    verbosity: request.verbosity?.value,
    logprobs: topLogprobs === undefined && logprobsField === undefined ? undefined : true,
    top_logprobs: topLogprobs?.value,
    user: request.user,
    safety_identifier: request.safetyIdentifier,
    metadata: request.metadata,
    service_tier: request.serviceTier,
    ...cacheFields(request.cacheHints, findings),
  });
}

/** Returns the tool fields; empty without tools, because hosts then reject them. */
function toolFields({ tools: offered, choice, parallelCalls }: NeutralRequest): Fields {
  if (offered.length === 0) return {};
  const tools = offered.map(({ hostName, description, parameters, strict }) => ({
    type: 'function',
    function: present({ name: hostName, description, parameters, strict }),
  }));
  const toolChoice =
    choice?.kind === 'named' ? { type: 'function', function: { name: choice.hostName } } : choice?.kind;
  return { tools, tool_choice: toolChoice, parallel_tool_calls: parallelCalls };
}

/** Maximum number of stop sequences in chat completions. */
const MAX_STOPS = 4;

function reasoningFields({ effort, summaryField, offField }: Reasoning, findings: Findings): Fields {
  if (summaryField !== undefined) findings.ignore(summaryField);
  if (offField === undefined) return { reasoning_effort: effort?.value };
  // Few hosts can turn reasoning off; others reject the attempt.
  findings.ignore(offField);
  if (effort !== undefined) findings.ignore(effort.field);
  return {};
}

function formatFields(format: Format): Fields {
  if (format.kind === 'json_schema') {
    return { response_format: { type: 'json_schema', json_schema: format.definition } };
  }
  return format.kind === 'text' ? {} : { response_format: { type: format.kind } };
}

function cacheFields(hints: CacheHints | undefined, findings: Findings): Fields {
  if (hints === undefined) return {};
  const { key, retention, options } = hints;
  const fields = { prompt_cache_key: key, prompt_cache_retention: retention };
  const { ttl = '30m', ...others } = options ?? {};
  if (ttl === '30m') return { ...fields, prompt_cache_options: options };
  findings.ignore('prompt_cache_options.ttl');
  return { ...fields, prompt_cache_options: others };
}
