/** Builds the response object: repeated request fields and results. */
import type { Fields } from '../../dialects/dialect.ts';
import type { AnswerUsage, ResponseContext } from '../answer.ts';
import { openAiDetails } from '../modalities.ts';

export type ResponseState = {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly output: readonly Fields[];
  readonly usage?: AnswerUsage | undefined;
  /** Reason of an incomplete response. */
  readonly reason?: string;
  readonly error?: Fields;
  /** The service tier reported by the host. */
  readonly serviceTier?: string | undefined;
};

/** Returns the unique part of a request id. */
export function idEnding({ requestId }: ResponseContext): string {
  return requestId.slice(requestId.indexOf('_') + 1);
}

/** Request fields repeated in a response, with their defaults. */
const REPEATED: readonly (readonly [name: string, absent: unknown])[] = Object.entries({
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  temperature: null,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: null,
  truncation: 'disabled',
  user: null,
});

export function responseOf(request: Fields, context: ResponseContext, state: ResponseState): Fields {
  const { status, output, usage, reason, error, serviceTier } = state;
  return {
    id: `resp_${idEnding(context)}`,
    object: 'response',
    created_at: context.nowS,
    status,
    background: false,
    error: error ?? null,
    incomplete_details: reason === undefined ? null : { reason },
    model: request.model,
    output,
    previous_response_id: null,
    service_tier: serviceTier ?? request.service_tier ?? null,
    store: false,
    usage: usage === undefined ? null : usageFields(usage),
    ...Object.fromEntries(REPEATED.map(([name, absent]) => [name, request[name] ?? absent])),
  };
}

function usageFields(usage: AnswerUsage): Fields {
  const { input, cached, cacheWritten, output, reasoning = 0, inputMedia, outputMedia } = usage;
  const read = { cached_tokens: cached, cache_write_tokens: cacheWritten };
  return {
    input_tokens: input,
    input_tokens_details: { ...read, ...openAiDetails(inputMedia) },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning, ...openAiDetails(outputMedia) },
    total_tokens: input + output,
  };
}
