/** What the gateway does with every name of requests of the messages API, stable and beta. */
import { actedOn, free, held, priced, refused } from '../rows.ts';

const CLIENT_TOOLS = `tools[custom] .name .description .input_schema .eager_input_streaming input_schema[object].**
  tools[bash_20241022|bash_20250124] tools[text_editor_20241022|text_editor_20250124|text_editor_20250429|text_editor_20250728]
  tools[text_editor_20250728]: .max_characters tools[memory_20250818]
  tools[computer_20241022|computer_20250124|computer_20251124] .display_height_px .display_width_px .display_number
  tools[computer_20251124]: .enable_zoom tools[browser_toolset_20260801|computer_toolset_20260801] .configs.**
  tools[tool_search_tool_bm25|tool_search_tool_bm25_20251119|tool_search_tool_regex|tool_search_tool_regex_20251119]
  [*].input_examples.** [*].defer_loading [*].strict [*].allowed_callers [*].name`;

const RESULTS = `content[bash_code_execution_tool_result|code_execution_tool_result|text_editor_code_execution_tool_result|tool_search_tool_result] .content
  content[web_fetch_tool_result|web_search_tool_result|advisor_tool_result] .content
  content[bash_code_execution_result|code_execution_result] .content .return_code .stderr .stdout
  content[encrypted_code_execution_result] .content .encrypted_stdout .return_code .stderr
  content[bash_code_execution_output|code_execution_output] .file_id
  content[text_editor_code_execution_create_result] .is_file_update
  content[text_editor_code_execution_str_replace_result] .lines .new_lines .new_start .old_lines .old_start
  content[text_editor_code_execution_view_result] .content .file_type .num_lines .start_line .total_lines
  content[tool_search_tool_search_result] .tool_references content[web_fetch_result] .content .url .retrieved_at
  content[web_search_result] .encrypted_content .title .url .page_age content[advisor_result] .text .stop_reason
  content[advisor_redacted_result] .encrypted_content .stop_reason
  content[bash_code_execution_tool_result_error|code_execution_tool_result_error|text_editor_code_execution_tool_result_error] .error_code
  content[text_editor_code_execution_tool_result_error|tool_search_tool_result_error]: .error_message
  content[tool_search_tool_result_error|web_fetch_tool_result_error|web_search_tool_result_error|advisor_tool_result_error] .error_code
  content[mcp_tool_use] .id .input .server_name content[mcp_tool_result] .content .is_error content[mcp_tool_listing] .mcp_server_name .tools.**`;

export const MESSAGES_REQUEST = [
  actedOn('it decides the provider and the prices', 'model'),
  actedOn('checked, and the estimate goes through them', 'messages messages[assistant|system|user]'),
  actedOn('it decides how the answer is read', 'stream'),
  actedOn(
    'held or priced as what it is among `tools`',
    'content[tool_addition|tool_removal] .tool tool[tool_definition] .definition',
  ),
  free('it names a tool', 'tool[tool_reference].**'),
  held('the output that it declares', 'max_tokens', 'output'),
  held(
    'text of the input',
    `messages[assistant|system|user]: .content system content[text] .text .citations content[thinking] .thinking .signature
    content[redacted_thinking] .data content[tool_use] .id .input .toolset_name content[tool_result] .content .is_error .toolset_name
    content[server_tool_use] .id .input content[search_result] .content .source .title .citations.** content[document]: .context .title .citations.**
    source[text] .data .media_type source[content] .content content[compaction] .content .encrypted_content .signature .tool_changes
    content[browser_state] .tabs.** .state_changes state_changes[download_completed|download_failed|download_started] .download_id .url
    state_changes[download_completed]: .path .size_bytes state_changes[download_failed]: .error state_changes[tab_opened] .tab_id
    citations[char_location|content_block_location|page_location|search_result_location|web_search_result_location].**
    content[fallback].** caller[direct|code_execution_20250825|code_execution_20260120].** content[tool_reference] .tool_name
    [*].tool_use_id [*].caller ${RESULTS}`,
  ),
  held(
    'an image: the tokens that the model takes for one, or else the most that any does',
    'content[image] .source',
    'image',
  ),
  held(
    'a file: its pages where they can be counted, or else the whole context window',
    'content[document] .source',
    'file',
  ),
  held('an image or a file, by what holds it', 'source[base64] .data', 'image'),
  actedOn('it says what the data is', 'source[base64]: .media_type'),
  refused('a file at another address, which the gateway cannot see; an image there is held as one', 'source[url] .url'),
  refused(
    'content at the provider, which the gateway cannot see',
    'source[file] .file_id content[container_upload] .file_id .cache_control container container.id container.skills skills[anthropic|custom].**',
  ),
  free('it makes the image no larger', 'content[image]: .transformations.**'),
  held(
    'definitions are text of the input; the client runs these tools, or they cost nothing beside their tokens',
    `tools ${CLIENT_TOOLS} tool_choice tool_choice[any|auto|none|tool].**
    output_format output_format[json_schema].** output_config output_config.format format[json_schema].** stop_sequences`,
  ),
  priced(
    'run by the host: a price under `tools` for each call and what it brings in, or 400',
    `tools[web_search_20250305|web_search_20260209|web_search_20260318]
    tools[web_fetch_20250910|web_fetch_20260209|web_fetch_20260309|web_fetch_20260318]
    tools[code_execution_20250522|code_execution_20250825|code_execution_20260120|code_execution_20260521]`,
  ),
  held(
    'the most calls of its tool',
    `tools[web_search_20250305|web_search_20260209|web_search_20260318]: .max_uses
    tools[web_fetch_20250910|web_fetch_20260209|web_fetch_20260309|web_fetch_20260318]: .max_uses`,
    'output',
  ),
  free(
    'within the price of its tool',
    `tools[web_search_20250305|web_search_20260209|web_search_20260318]: .allowed_domains .blocked_domains .user_location
    tools[web_search_20260318|web_fetch_20260318]: .response_inclusion user_location[approximate].**
    tools[web_fetch_20250910|web_fetch_20260209|web_fetch_20260309|web_fetch_20260318]: .allowed_domains .blocked_domains .citations.**
    .max_content_tokens .url_sources.** tools[web_fetch_20260309|web_fetch_20260318]: .use_cache`,
  ),
  priced(
    'another model reads the whole conversation: a price under `tools` for its `model`, or 400',
    `tools[advisor_20260301] .model .caching .max_tokens .max_uses .name .cache_control .allowed_callers .defer_loading .strict`,
    'variant',
  ),
  refused('another model could answer than the one that was checked', 'fallbacks.**'),
  refused(
    'what servers answer would be input that the gateway cannot estimate',
    'mcp_servers.** tool[mcp_tool_reference|mcp_toolset_reference].** tools[mcp_toolset] .cache_control .mcp_server_name .configs.** .default_config.** .tools.**',
  ),
  refused('state at the provider would be shared by all keys', 'thread.** diagnostics.previous_message_id'),
  refused('it changes the price, and has none here', 'speed=fast inference_geo billing_policy.**'),
  free('the ordinary prices', 'speed speed=standard service_tier service_tier=auto|standard_only'),
  held(
    'a cache write: the price `cache_write`',
    '[*].cache_control cache_control cache_control[ephemeral] .ttl .ttl=5m',
    'write',
  ),
  held('a long cache write: the price `cache_write_1h`', 'cache_control[ephemeral]: .ttl=1h', 'long_write'),
  held(
    'the declared maximum as a whole, since what is thought may be hidden',
    'thinking thinking[adaptive|enabled|between_tools] thinking[adaptive|enabled]: .display output_config.effort',
    'hidden',
  ),
  free('it is within the declared maximum', 'thinking[enabled]: .budget_tokens thinking[disabled]'),
  free('it says what becomes of thinking that was sent back', 'thinking[adaptive|enabled]: .block_binding.**'),
  held(
    'the input once more: the host may summarize all of it first',
    'edits[compact_20260112] .instructions .pause_after_compaction .trigger',
    'again',
  ),
  held(
    'text of the input; the answer is the summary, within the declared maximum',
    'compaction compaction[summarize] .instructions',
  ),
  free(
    'it takes input away',
    `context_management context_management.edits edits[clear_thinking_20251015].** edits[clear_tool_uses_20250919].** trigger[input_tokens].**`,
  ),
  free(
    'what it makes the model write is output',
    `output_config.task_budget task_budget[tokens].** messages[system]: .output_config.** .clear_at`,
  ),
  free('it asks what became of the cache', 'diagnostics'),
  free('it only lowers the price', 'fallback_credit_token.**'),
  free('a name for the records of the provider', 'metadata metadata.user_id'),
  free('a header, which the gateway does not pass on', 'user_profile_id workspace_id'),
  priced(
    'a header that reaches the host: long requests have prices of their own under `above`',
    'betas=context-1m-2025-08-07',
  ),
  held(
    'a header that reaches the host: the declared maximum is held',
    'betas=output-128k-2025-02-19|output-300k-2026-03-24',
  ),
  free(
    'a header that reaches the host: what it allows is in fields, which are held, priced or refused themselves',
    `betas betas=advisor-tool-2026-03-01|cache-diagnosis-2026-04-07|code-execution-2025-05-22|compact-2026-01-12|compact-2026-09-04
    betas=computer-use-2024-10-22|computer-use-2025-01-24|computer-use-2025-11-24|context-management-2025-06-27
    betas=extended-cache-ttl-2025-04-11|fallback-credit-2026-06-01|fallback-credit-2026-07-01|fast-mode-2026-02-01|files-api-2025-04-14
    betas=inline-tools-2026-09-15|mcp-client-2025-04-04|mcp-client-2025-11-20|mcp-client-2026-09-15|mcp-tunnels-2026-06-22
    betas=message-threads-2026-08-12|mid-conversation-output-config-2026-07-01|mid-conversation-system-clear-at-2026-08-21
    betas=mid-conversation-tool-changes-2026-07-01|pdfs-2024-09-25|prompt-caching-2024-07-31|server-side-fallback-2026-06-01
    betas=server-side-fallback-2026-07-01|skills-2025-10-02|structured-outputs-2025-11-13|task-budgets-2026-03-13
    betas=thinking-binding-controls-2026-08-01|token-counting-2024-11-01|user-profiles-billing-2026-10-01`,
  ),
  free(
    'a header that reaches the host: it changes what is shown, or lowers what is billed',
    `betas=dev-full-thinking-2025-05-14|interleaved-thinking-2025-05-14|model-context-window-exceeded-2025-08-26
    betas=thinking-display-updates-2026-08-18|thinking-token-count-2026-05-13|token-efficient-tools-2025-02-19`,
  ),
  free(
    'a header for requests that the gateway does not have',
    `betas=admin-user-sign-out-2026-10-08|agent-memory-2026-07-22|analytics-usage-cost-2026-08-24|ce-claude-code-managed-settings-2026-10-06
    betas=ce-plugins-2026-09-01|ce-user-management-2026-07-13|dreaming-2026-04-21|experimental-claude-tag-2026-10-21
    betas=managed-agents-2026-04-01|message-batches-2024-09-24|spend-limit-reads-2026-09-26|telemetry-destinations-2026-08-11
    betas=user-profiles-2026-03-24|user-profiles-2026-08-18|user-profiles-2026-09-04|webhooks-2026-10-07`,
  ),
];
