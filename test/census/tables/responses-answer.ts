/** What the gateway does with every name of answers and events of the responses API, stable and beta. */
import { actedOn, free, priced } from '../rows.ts';

/** Events that say that something begins, goes on or is done. */
const STEPS = [
  'audio.done',
  'audio.transcript.done',
  'code_interpreter_call.completed',
  'code_interpreter_call.in_progress',
  'code_interpreter_call.interpreting',
  'compaction.compacting',
  'file_search_call.completed',
  'file_search_call.in_progress',
  'file_search_call.searching',
  'image_generation_call.completed',
  'image_generation_call.generating',
  'image_generation_call.in_progress',
  'mcp_call.completed',
  'mcp_call.failed',
  'mcp_call.in_progress',
  'mcp_list_tools.completed',
  'mcp_list_tools.failed',
  'mcp_list_tools.in_progress',
  'web_search_call.completed',
  'web_search_call.in_progress',
  'web_search_call.searching',
]
  .map((name) => `[response.${name}]`)
  .join(' ');

export const RESPONSES_ANSWER = [
  actedOn('kept, to find the request at the provider', '[response] .id .model'),
  actedOn('says whether it is an answer, and a whole one', '[response]: .output .status .error'),
  actedOn(
    'billed by these figures',
    '[response]: .usage .usage.input_tokens .usage.output_tokens .usage.total_tokens .usage.input_tokens_details',
  ),
  priced(
    'a part of the usage with a price of its own',
    `[response]: .usage.input_tokens_details.cached_tokens .usage.input_tokens_details.cache_write_tokens
    .usage.input_tokens_details.cache_write_tokens_details .usage.input_tokens_details.cache_write_tokens_details.ttl_12h_tokens`,
  ),
  priced(
    'the calls that are billed',
    '[response]: .tool_usage .tool_usage.web_search .tool_usage.web_search.num_requests',
  ),
  free(
    'within the price of a call of image_generation, which is refused where it has none for its variant',
    '[response]: .tool_usage.image_gen.**',
  ),
  priced('the tier that served it, if it has prices', '[response]: .service_tier'),
  actedOn(
    'the end of a stream, with the usage',
    '[response.completed] .response [response.incomplete] .response [response.failed] .response',
  ),
  actedOn('the end of a stream that has failed', '[error]'),
  free('what the client reads of a failure', '[error]: .code .message [response]: .error.code .error.message'),
  actedOn(
    'says which request it is',
    '[response.created] .response [response.in_progress] .response [response.queued] .response',
  ),
  actedOn(
    'output: its text is counted as it comes',
    `[response.output_text.delta] .delta [response.refusal.delta] .delta [response.reasoning_text.delta] .delta
    [response.reasoning_summary_text.delta] .delta [response.function_call_arguments.delta] .delta
    [response.custom_tool_call_input.delta] .delta [response.mcp_call_arguments.delta] .delta
    [response.code_interpreter_call_code.delta] .delta [response.shell_call_command.delta] .delta
    [response.audio.transcript.delta] .delta`,
  ),
  actedOn('output: audio is counted by its length as it comes, at the price of audio', '[response.audio.delta] .delta'),
  actedOn(
    'output: its text is counted once it is whole, unless deltas had it',
    `[response.output_text.done] .text [response.refusal.done] .refusal [response.reasoning_text.done] .text
    [response.reasoning_summary_text.done] .text [response.reasoning_summary_part.added|response.reasoning_summary_part.done] .part
    [response.function_call_arguments.done] .arguments [response.custom_tool_call_input.done] .input
    [response.mcp_call_arguments.done] .arguments [response.code_interpreter_call_code.done] .code
    [response.shell_call_command.added] .command [response.shell_call_command.done] .command
    [response.content_part.added] .part [response.content_part.done] .part [response.output_item.done] .item output[message] .content output[reasoning] .summary .content .encrypted_content
    content[output_text] .text content[refusal] .refusal content[reasoning_text] .text summary[summary_text] .text
    output[function_call] .arguments .name output[custom_tool_call] .input .name output[mcp_call] .arguments .name
    output[mcp_approval_request] .arguments .name output[tool_search_call] .arguments output[code_interpreter_call] .code
    output[program] .code output[apply_patch_call] .operation operation[create_file|update_file|delete_file] .path
    operation[create_file|update_file]: .diff output[computer_call] .action .actions
    action[click|double_click|drag|keypress|move|scroll|type|wait|screenshot|exec|find_in_page|open_page|search]
    action[type]: .text action[exec]: .command .env.** .timeout_ms .user .working_directory action[click]: .button .x .y .keys
    action[double_click]: .keys .x .y action[drag]: .path.** .keys action[keypress]: .keys action[move]: .x .y .keys
    action[scroll]: .scroll_x .scroll_y .x .y .keys action[find_in_page]: .pattern .url action[open_page]: .url action[search]: .queries .query
    output[local_shell_call] .action output[shell_call] .action .action.commands .action.max_output_length .action.timeout_ms output[web_search_call] .action
    output[file_search_call] .queries output[multi_agent_call] .arguments output[agent_message] .content output[compaction] .encrypted_content
    output[image_generation_call] .revised_prompt output[function_call_output]: .name`,
  ),
  actedOn(
    'kept, where a host keeps responses for the key: others cannot refer to it',
    `output[additional_tools|agent_message|apply_patch_call|apply_patch_call_output|compaction|computer_call]: .id
    output[computer_call_output|custom_tool_call|custom_tool_call_output|function_call|function_call_output]: .id
    output[local_shell_call|local_shell_call_output|mcp_approval_request|mcp_approval_response|mcp_list_tools]: .id
    output[message|multi_agent_call_output|program_output|reasoning|shell_call_output]: .id
    output[tool_search_call|tool_search_output]: .id`,
    'whole',
  ),
  priced('a call of one of the host’s tools, by the price of its name', '[response.output_item.added] .item'),
  actedOn(
    'one call, however often it is said',
    'output[code_interpreter_call|file_search_call|image_generation_call|mcp_call|multi_agent_call|program|shell_call|web_search_call]: .id',
  ),
  actedOn('calls in one container are billed once', 'output[code_interpreter_call]: .container_id'),
  priced('the variant of the call that is billed', 'output[image_generation_call]: .output_format .quality .size'),
  actedOn(
    'an image, counted where no usage is reported and no tool has made it',
    'output[image_generation_call]: .result',
  ),
  free('a request that would have it is refused', 'content[encrypted_content] .encrypted_content'),
  free('made by the library of what is in the output', '[response]: .output_text'),
  free(
    'within the price of its tool',
    `output[image_generation_call]: .svg_usage.** [response.image_generation_call.partial_image] .partial_image_b64`,
  ),
  free(
    'what a tool has found or answered: input, which is held with the call',
    `output[additional_tools] .role .tools.** output[apply_patch_call_output] .output output[custom_tool_call_output] .output
    output[function_call_output] .output .namespace output[local_shell_call_output] .output output[mcp_approval_response] .approval_request_id .approve .reason
    output[mcp_list_tools] .server_label .tools.** .error output[multi_agent_call_output] .output .action output[program_output] .result
    output[shell_call_output] .output .output.outcome .output.stderr .output.stdout .output.created_by outcome[exit] .exit_code outcome[timeout]
    output[tool_search_output] .tools.** output[computer_call_output] .output output[computer_screenshot] .file_id .image_url
    output[mcp_call]: .output .error error[http_error] .code .message error[mcp_protocol_error] .code .message error[mcp_tool_execution_error] .content
    output[file_search_call]: .results.** output[code_interpreter_call]: .outputs outputs[image] .url outputs[logs] .logs action[search]: .sources
    sources[url] .url [response.shell_call_output_content.delta] .delta.** [response.shell_call_output_content.done] .output .output.outcome
    .output.stderr .output.stdout .output.created_by output[input_file|input_image|input_text].**
    content[input_file|input_image|input_text|computer_screenshot|text|summary_text].**`,
  ),
  free(
    'what the request said, again',
    `[response]: .instructions.** .tools.** .tool_choice.** .access_programs.** .metadata.** .parallel_tool_calls .temperature .top_p
    .background .conversation.** .image.** .max_output_tokens .max_tool_calls .previous_response_id .prompt.** .prompt_cache_key
    .prompt_cache_options.** .prompt_cache_retention .reasoning.** .safety_identifier .text.** .top_logprobs .truncation .user`,
  ),
  free(
    'within the tokens that are billed, at the same price',
    `[response]: .usage.output_tokens_details.**
    .usage.input_tokens_details.cache_write_tokens_details.ttl_30m_tokens`,
  ),
  free('it says that something begins, goes on or is done', STEPS),
  free(
    'citations are not billed',
    `[response.output_text.annotation.added] .annotation .annotation_index annotations[container_file_citation|file_citation|file_path|url_citation].**
    content[output_text]: .annotations`,
  ),
  free(
    'probabilities are not billed',
    `content[output_text]: .logprobs.** [response.output_text.delta]: .logprobs.** [response.output_text.done]: .logprobs.**`,
  ),
  free(
    'it names things: a few tokens at most',
    `[*].status [*].call_id [*].caller [*].agent.** [*].created_by [*].namespace [*].async [*].server_label [*].author [*].recipient
    [*].approval_request_id [*].item_id [*].output_index [*].content_index [*].summary_index [*].command_index [*].sequence_number
    [*].param caller[direct|program].** output[message]: .role .phase output[program]: .fingerprint output[multi_agent_call]: .action
    output[tool_search_call|tool_search_output]: .execution output[shell_call]: .environment`,
  ),
  free(
    'it costs nothing',
    `[response]: .created_at .completed_at .incomplete_details.** .moderation.** .prompt_cache_diagnostics.** .error.misalignment.** .error.param .error.type
    output[image_generation_call]: .action .background .error.** output[computer_call]: .pending_safety_checks.**
    output[computer_call_output]: .acknowledged_safety_checks.** 
    output[shell_call_output]: .max_output_length environment[container_reference|local].**
    [response.shell_call_command.delta]: .obfuscation [response.image_generation_call.partial_image]: .partial_image_index .background
    .output_format .quality .size`,
  ),
];
