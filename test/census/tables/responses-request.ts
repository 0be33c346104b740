/** What the gateway does with every name of requests of the responses API, stable and beta. */
import { actedOn, free, held, priced, refused } from '../rows.ts';

/** Items that say again what a model has written, or what a tool has answered. */
const HISTORY = `input[additional_tools] .role input[agent_message] .author .recipient .content
  input[apply_patch_call] .operation operation[create_file|update_file] .diff .path operation[delete_file] .path
  input[apply_patch_call_output] .output input[code_interpreter_call] .code .outputs outputs[logs] .logs outputs[image] .url
  input[compaction] .encrypted_content content[encrypted_content] .encrypted_content
  input[computer_call] .action .actions .pending_safety_checks.** input[computer_call_output] .output .acknowledged_safety_checks.**
  action[click|double_click|drag|keypress|move|scroll|type|wait|exec|find_in_page|open_page|search|screenshot] action[click]: .button .x .y .keys
  action[double_click]: .keys .x .y action[drag]: .path.** .keys action[keypress]: .keys action[move]: .x .y .keys
  action[scroll]: .scroll_x .scroll_y .x .y .keys action[type]: .text action[exec]: .command .env.** .timeout_ms .user .working_directory
  action[find_in_page]: .pattern .url action[open_page]: .url action[search]: .queries .query .sources sources[url] .url
  input[custom_tool_call] .input .name .async .namespace input[custom_tool_call_output] .output
  input[file_search_call] .queries .results.** input[function_call] .arguments .name .async .namespace
  input[function_call_output] .output .name .namespace
  input[local_shell_call] .action input[local_shell_call_output] .output input[mcp_approval_request] .arguments .name .server_label
  input[mcp_approval_response] .approval_request_id .approve .reason
  input[mcp_call] .arguments .name .server_label .approval_request_id .error .output
  error[http_error] .code .message error[mcp_protocol_error] .code .message error[mcp_tool_execution_error] .content
  input[mcp_list_tools] .server_label .error .tools.** input[message] .role .content .phase
  input[multi_agent_call] .action .arguments input[multi_agent_call_output] .action .output
  input[program] .code .fingerprint input[program_output] .result input[reasoning] .summary .content .encrypted_content
  summary[summary_text] .text content[reasoning_text] .text content[output_text] .text .annotations .logprobs.**
  annotations[container_file_citation] .container_id .end_index .file_id .filename .start_index
  annotations[file_citation] .file_id .filename .index annotations[file_path] .file_id .index
  annotations[url_citation] .end_index .start_index .title .url output[output_text] .text .annotations
  content[refusal] .refusal input[shell_call] .action.** .environment environment[local] .skills.**
  input[shell_call_output] .output .output.outcome .output.stderr .output.stdout .max_output_length outcome[exit] .exit_code outcome[timeout]
  input[tool_search_call] .arguments .execution input[tool_search_output] .execution
  input[web_search_call] .action caller[direct] caller[program] .caller_id
  [*].id [*].status [*].call_id [*].caller [*].agent.**`;

export const RESPONSES_REQUEST = [
  actedOn('it decides the provider and the prices', 'model'),
  actedOn('checked, and the estimate goes through it', 'input'),
  actedOn('checked, so that a mistake of the client costs nothing', 'temperature top_p'),
  actedOn('it decides how the answer is read', 'stream'),
  held('the output that it declares', 'max_output_tokens', 'output'),
  held('the most calls of the host’s tools; it is written where the client says none', 'max_tool_calls'),
  held(
    'text of the input',
    `instructions content[input_text] .text output[input_text] .text content[input_file]: .filename output[input_file]: .filename ${HISTORY}`,
  ),
  held(
    'an image of what was written before: all of its data, as text',
    'input[image_generation_call] .result .revised_prompt',
  ),
  free(
    'what an image was, which its data says',
    `input[image_generation_call]: .action .background .output_format .quality .size .error.** .svg_usage.**`,
  ),
  held(
    'an image: the tokens that the model takes for one, or else the most that any does',
    'content[input_image] .image_url output[input_image] .image_url output[computer_screenshot] .image_url',
    'image',
  ),
  free(
    'the most is held whatever it says',
    'content[input_image|input_file]: .detail output[input_image|input_file]: .detail image.**',
  ),
  held(
    'a file: its pages where they can be counted, or else the whole context window',
    'content[input_file] .file_data output[input_file] .file_data',
    'file',
  ),
  refused(
    'content at another address or at the provider, which the gateway cannot see',
    `content[input_file]: .file_id .file_url output[input_file]: .file_id .file_url content[input_image]: .file_id
    output[input_image]: .file_id output[computer_screenshot]: .file_id input[item_reference]: .agent.**
    input[code_interpreter_call]: .container_id environment[container_reference] .container_id environment[container_auto]: .file_ids
    .skills skills[skill_reference] .skill_id .version skills[inline].**
    container[auto]: .file_ids tools[image_generation]: .input_image_mask.file_id tools[file_search]: .vector_store_ids
    tools[mcp]: .connector_id .server_url .tunnel_id`,
  ),
  refused(
    'state at the provider would be shared by all keys',
    'conversation.** prompt.** background prompt_cache_options.comparison_response_id',
  ),
  refused(
    'the same; with `responses_state: per_key` the key that made it may refer to it, and its tokens are held',
    'previous_response_id store input[item_reference] .id',
  ),
  refused('agents without number, each with an input of its own', 'multi_agent.**'),
  free(
    'a header that reaches the host: what it allows is in a field, which is refused',
    'betas betas=responses_multi_agent=v1',
  ),
  held('the input once more: the host may summarize all of it first', 'context_management.**', 'again'),
  held(
    'definitions are text of the input; the client runs these tools',
    `tools tools[function] .name .description .parameters.** .output_schema.** .strict .async .defer_loading .allowed_callers
    tools[custom] .name .description .format .async .defer_loading .allowed_callers
    format[grammar] .definition .syntax format[text] format[json_object] format[json_schema] .name .schema.** .description .strict
    tools[namespace] .name .description .tools tools[apply_patch] .allowed_callers tools[local_shell] tools[computer]
    tools[computer_use_preview] .display_height .display_width .environment tools[tool_search] .description .execution .parameters
    input[additional_tools]: .tools input[tool_search_output]: .tools text text.format
    tool_choice tool_choice[allowed_tools] .mode .tools.** tool_choice[custom] .name tool_choice[function] .name tool_choice[mcp] .server_label .name
    tool_choice[programmatic_tool_calling|apply_patch|shell|code_interpreter|computer|computer_use|computer_use_preview|file_search|image_generation|web_search_preview|web_search_preview_2025_03_11]`,
  ),
  priced(
    'run by the host: a price under `tools` for each call and what it brings in, or 400',
    `tools[web_search|web_search_2025_08_26|web_search_preview|web_search_preview_2025_03_11|file_search|code_interpreter|image_generation|mcp|programmatic_tool_calling]
    tools[shell] .environment environment[container_auto] tools[code_interpreter]: .container container[auto]`,
  ),
  priced(
    'it changes the price of its tool: a price under `tools` for the variant, or 400',
    `container[auto]: .memory_limit .memory_limit=4g|16g|64g environment[container_auto]: .memory_limit .memory_limit=4g|16g|64g
    tools[image_generation]: .model .size .size=1024x1024|1024x1536|1536x1024 .quality .quality=high|low|max|medium|xhigh .partial_images .input_fidelity .input_fidelity=high .complexity .output_format
    .output_format=gif|svg .frame_count .svg.**
    tools[web_search|web_search_2025_08_26|web_search_preview|web_search_preview_2025_03_11]: .search_context_size .search_context_size=high`,
    'variant',
  ),
  free(
    'within the price of its tool',
    `container[auto]: .memory_limit=1g environment[container_auto]: .memory_limit=1g
    tools[image_generation]: .action .size=auto .quality=auto .input_fidelity=low .output_format=jpeg|png|webp
    tools[web_search|web_search_2025_08_26|web_search_preview|web_search_preview_2025_03_11]: .search_context_size=low|medium
    tools[web_search_preview|web_search_preview_2025_03_11]: .search_content_types tools[web_search|web_search_2025_08_26]: .external_web_access .filters .filters.allowed_domains
    tools[web_search|web_search_2025_08_26|web_search_preview|web_search_preview_2025_03_11]: .user_location user_location[approximate] .city .country .region .timezone
    tools[file_search]: .filters .max_num_results .ranking_options.** filters[eq|ne|gt|gte|lt|lte|in|nin] .key .value filters[and|or] .filters
    tools[code_interpreter|shell]: .allowed_callers container[auto]: .network_policy environment[container_auto]: .network_policy
    network_policy[allowlist] .allowed_domains .domain_secrets.** network_policy[disabled]
    tools[image_generation]: .background .frame_duration_ms .input_image_mask .input_image_mask.image_url .moderation .output_compression
    tools[mcp]: .server_label .allowed_callers .allowed_tools.** .authorization .defer_loading .headers.** .require_approval.**
    .server_description`,
  ),
  priced('a tier has prices of its own under `service_tiers`', 'service_tier=fast|flex|priority|scale|ultrafast'),
  free('the ordinary prices', 'service_tier service_tier=auto|default'),
  held(
    'a long cache write: the price `cache_write_1h`',
    `prompt_cache_options.ttl=12h content[input_file|input_image|input_text]: .prompt_cache_breakpoint.ttl=12h
    output[input_file|input_image|input_text]: .prompt_cache_breakpoint.ttl=12h`,
    'long_write',
  ),
  free(
    'a cache write of the ordinary kind, which is held for all of the input',
    `content[input_file|input_image|input_text]: .prompt_cache_breakpoint .prompt_cache_breakpoint.mode .prompt_cache_breakpoint.ttl
    .prompt_cache_breakpoint.ttl=30m output[input_file|input_image|input_text]: .prompt_cache_breakpoint .prompt_cache_breakpoint.mode
    .prompt_cache_breakpoint.ttl .prompt_cache_breakpoint.ttl=30m prompt_cache_options prompt_cache_options.mode
    prompt_cache_options.prewarm prompt_cache_options.ttl prompt_cache_options.ttl=30m prompt_cache_key`,
  ),
  free(
    'cached input costs the same however long it is kept',
    'prompt_cache_retention prompt_cache_retention=24h|in_memory',
  ),
  free(
    'what it makes the model write is output',
    `reasoning reasoning.context reasoning.effort reasoning.generate_summary reasoning.mode reasoning.mode=pro|standard reasoning.summary
    text.verbosity parallel_tool_calls input[compaction_trigger] input[configuration_update] .reasoning .reasoning.effort .text .text.format`,
  ),
  free('what the answer shows is not billed again', 'include top_logprobs stream_options.**'),
  free('models of moderation cost nothing', 'moderation.**'),
  free('it takes input away', 'truncation'),
  free('a program for access to a model, at its price', 'access_programs.**'),
  free('a name for the records of the provider', 'metadata.** safety_identifier user'),
];
