/** What the gateway does with every name of answers and events of the messages API, stable and beta. */
import { actedOn, free, priced } from '../rows.ts';

export const MESSAGES_ANSWER = [
  actedOn('kept, to find the request at the provider', '[message] .id .model'),
  actedOn(
    'says whether it is an answer, and a whole one',
    '[message]: .content [message_delta]: .delta .delta.stop_reason',
  ),
  actedOn('says whether an answer is a whole one; in a stream message_delta does', '[message]: .stop_reason', 'whole'),
  actedOn(
    'read event by event',
    '[message_start] .message [content_block_start] .content_block [content_block_delta] .delta [message_delta] [message_stop]',
  ),
  actedOn(
    'billed by these figures',
    `[message|message_delta]: .usage .usage.input_tokens .usage.output_tokens .usage.iterations
    iterations[message|compaction|fallback_message|advisor_message] .input_tokens .output_tokens .cache_read_input_tokens .cache_creation_input_tokens
    .cache_creation`,
  ),
  priced(
    'a part of the usage with a price of its own',
    `[message|message_delta]: .usage.cache_read_input_tokens .usage.cache_creation_input_tokens
    [message]: .usage.cache_creation .usage.cache_creation.ephemeral_5m_input_tokens .usage.cache_creation.ephemeral_1h_input_tokens
    iterations[message|compaction|fallback_message|advisor_message]: .cache_creation.ephemeral_5m_input_tokens .cache_creation.ephemeral_1h_input_tokens`,
  ),
  priced(
    'the calls that are billed',
    '[message|message_delta]: .usage.server_tool_use .usage.server_tool_use.web_search_requests .usage.server_tool_use.web_fetch_requests',
  ),
  priced(
    'the tier, the speed and the place that served it, if they have prices',
    '[message]: .usage.service_tier .usage.speed .usage.inference_geo',
  ),
  free(
    'within the tokens that are billed, at the same price',
    '[message|message_delta]: .usage.output_tokens_details.**',
  ),
  free(
    'requests that would have it are refused',
    `content[mcp_tool_result] .content .is_error
    content[mcp_tool_listing].** content[fallback].**`,
  ),
  free('it only lowers the price', '[message|message_delta]: .usage.fallback_credit.**'),
  actedOn(
    'output: its text is counted as it comes',
    `delta[text_delta] .text delta[thinking_delta] .thinking delta[input_json_delta] .partial_json delta[compaction_delta] .content .encrypted_content
    content[text] .text content[thinking] .thinking content[tool_use] .name .input content[server_tool_use] .name .input.**
    content[mcp_tool_use] .name .input content[compaction] .content .encrypted_content`,
  ),
  actedOn(
    'output: it stands for thinking that is not shown',
    'delta[signature_delta] .signature content[thinking]: .signature content[redacted_thinking] .data delta[thinking_delta]: .estimated_tokens',
  ),
  actedOn(
    'output of another model: its text is counted, or what stands for it',
    'content[advisor_tool_result] .content content[advisor_result] .text content[advisor_redacted_result] .encrypted_content',
  ),
  free(
    'how advice has ended',
    'content[advisor_result|advisor_redacted_result]: .stop_reason content[advisor_tool_result_error].**',
  ),
  free(
    'it stands for the text beside it',
    'content[compaction]: .signature .tool_changes tool_changes[tool_addition|tool_removal].**',
  ),
  actedOn(
    'output: some tokens for each citation, but none for what it quotes',
    'delta[citations_delta] .citation content[text]: .citations',
  ),
  free(
    'what is quoted is not billed',
    'citations[char_location|content_block_location|page_location|search_result_location|web_search_result_location].**',
  ),
  free(
    'what a tool has found or answered: input, which is held with the call',
    `content[bash_code_execution_tool_result|code_execution_tool_result|text_editor_code_execution_tool_result|tool_search_tool_result] .content
    content[web_fetch_tool_result|web_search_tool_result] .content
    content[bash_code_execution_result|code_execution_result|encrypted_code_execution_result].**
    content[container_upload].**
    content[text_editor_code_execution_create_result|text_editor_code_execution_str_replace_result|text_editor_code_execution_view_result].**
    content[tool_search_tool_search_result].** content[web_fetch_result].** content[web_search_result].**
    content[bash_code_execution_tool_result_error|code_execution_tool_result_error|text_editor_code_execution_tool_result_error].**
    content[tool_search_tool_result_error|web_fetch_tool_result_error|web_search_tool_result_error].**`,
  ),
  free(
    'it names things: a few tokens at most',
    `[*].id [*].tool_use_id [*].index [*].caller [*].toolset_name [*].server_name [*].model caller[direct|code_execution_20250825|code_execution_20260120].**
    [message]: .role .container.** [message_delta]: .delta.container.** [content_block_stop]`,
  ),
  free(
    'it costs nothing',
    `[message]: .stop_details .stop_sequence .context_management.** .diagnostics.** .input_transformations
    [message_delta]: .delta.stop_details .delta.stop_sequence .context_management.** .input_transformations stop_details[refusal].**
    input_transformations[thinking_dropped|thinking_mismatch_allowed].**`,
  ),
];

export const COUNT_TOKENS_ANSWER = [
  actedOn('the answer', 'input_tokens'),
  free('it costs nothing', 'context_management.**'),
];
