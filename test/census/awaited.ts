/** Rows that the gateway does not follow yet: a test fails on all others that it does not follow, and on these once it does. */
import { expand } from './rows.ts';

/** By format, and whether the table is that of requests or of answers. */
export const AWAITED: Readonly<Record<string, readonly string[]>> = {
  'chat request': expand(`messages[assistant]: .audio .audio.id content[file]: .file.file_data .file.file_id
    prediction prediction[content] .content web_search_options.search_context_size=high`),
  'chat answer': expand(`[assistant]: .audio.data .audio.transcript
    [chat.completion.chunk]: .choices.delta.audio.data .choices.delta.audio.transcript`),
  'responses request': expand(`content[input_file]: .file_data .file_url output[input_file]: .file_data .file_url
    output[computer_screenshot]: .file_id input[code_interpreter_call]: .container_id container[auto]: .file_ids
    environment[container_auto]: .file_ids .skills environment[container_reference] .container_id skills[skill_reference] .skill_id .version
    skills[inline] .name .description .source source[base64] .data .media_type tools[file_search]: .vector_store_ids
    tools[image_generation]: .input_image_mask.file_id .model .size=1024x1024|1024x1536|1536x1024
    .quality=high|low|max|medium|xhigh .complexity .frame_count .partial_images .svg
    .input_fidelity=high .output_format=gif|svg container[auto]: .memory_limit=4g|16g|64g
    environment[container_auto]: .memory_limit=4g|16g|64g
    tools[web_search|web_search_2025_08_26|web_search_preview|web_search_preview_2025_03_11]: .search_context_size=high`),
  'responses answer':
    expand(`[response.output_text.done]: .text [response.refusal.done]: .refusal [response.reasoning_text.done]: .text
    [response.reasoning_summary_text.done]: .text [response.function_call_arguments.done]: .arguments
    [response.custom_tool_call_input.done]: .input [response.mcp_call_arguments.done]: .arguments
    [response.code_interpreter_call_code.done]: .code [response.shell_call_command.added|response.shell_call_command.done]: .command
    action[click]: .button .x .y .keys action[double_click]: .x .y .keys action[drag|keypress|move|scroll]: .keys action[move|scroll]: .x .y
    action[scroll]: .scroll_x .scroll_y action[exec]: .timeout_ms .user .working_directory
    output[shell_call]: .action.max_output_length .action.timeout_ms content[output_text]: .text content[refusal]: .refusal content[reasoning_text]: .text
    summary[summary_text]: .text output[reasoning]: .encrypted_content output[compaction]: .encrypted_content output[function_call]: .name .arguments output[custom_tool_call]: .name .input
    output[mcp_call]: .name .arguments output[mcp_approval_request]: .name .arguments output[multi_agent_call]: .arguments
    output[tool_search_call]: .arguments output[program]: .code output[code_interpreter_call]: .code output[shell_call]: .action.commands
    operation[create_file|update_file]: .diff .path operation[delete_file]: .path action[exec]: .command action[type]: .text
    action[search]: .queries .query action[open_page]: .url action[find_in_page]: .url .pattern output[file_search_call]: .queries
    output[image_generation_call]: .revised_prompt output[function_call_output]: .name
    [response]: .tool_usage.web_search.num_requests`),
  'messages request':
    expand(`content[document]: .source source[base64]: .data source[url] .url container.skills skills[anthropic|custom]
    thinking thinking[adaptive|enabled] .display thinking[between_tools]
    tools[advisor_20260301] .model .caching .max_tokens .max_uses .name .cache_control .allowed_callers .defer_loading .strict
    tools[browser_toolset_20260801|computer_toolset_20260801] .configs [*].cache_control`),
  'messages answer':
    expand(`content[compaction]: .content .encrypted_content delta[compaction_delta]: .content .encrypted_content
    content[thinking]: .signature delta[signature_delta]: .signature content[redacted_thinking]: .data delta[thinking_delta]: .estimated_tokens
    content[advisor_result]: .text content[advisor_redacted_result]: .encrypted_content`),
};
