/** What the gateway does with every name of chat completions. */
import { actedOn, free, held, priced, refused } from '../rows.ts';

export const CHAT_REQUEST = [
  actedOn('it decides the provider and the prices', 'model'),
  actedOn('checked, and the estimate goes through them', 'messages'),
  actedOn(
    'checked, so that a mistake of the client costs nothing',
    'temperature top_p presence_penalty frequency_penalty stop',
  ),
  actedOn('usage is requested at the end of every stream', 'stream stream_options stream_options.include_usage'),
  held('the output that it declares', 'max_tokens max_completion_tokens', 'output'),
  held('the declared output, for each choice', 'n', 'output'),
  held(
    'text of the input',
    `messages[assistant|developer|function|system|tool|user] .content
    messages[assistant|developer|function|system|user]: .name messages[assistant]: .refusal .tool_calls .function_call
    .function_call.arguments .function_call.name messages[tool]: .tool_call_id content[text] .text content[refusal] .refusal
    tool_calls[custom] .id .custom .custom.input .custom.name tool_calls[function] .id .function .function.arguments .function.name
    content[file]: .file.filename`,
  ),
  held(
    'definitions are text of the input',
    `tools tools[custom] .custom .custom.name .custom.description .custom.format tools[function] .function .function.name
    .function.description .function.parameters.** .function.strict functions functions.name functions.description functions.parameters.**
    format[grammar] .grammar.** format[text] response_format response_format[json_object] response_format[json_schema]
    .json_schema .json_schema.name .json_schema.description .json_schema.schema.** .json_schema.strict response_format[text]
    tool_choice tool_choice[allowed_tools] .allowed_tools.** tool_choice[function] .function.** tool_choice[custom] .custom.**
    function_call function_call.name`,
  ),
  held(
    'an image: the tokens that the model takes for one, or else the most that any does',
    'content[image_url] .image_url .image_url.url',
    'image',
  ),
  free('the most is held whatever it says', 'content[image_url]: .image_url.detail'),
  held(
    'audio: its duration, or else the context window',
    'content[input_audio] .input_audio .input_audio.data',
    'audio',
  ),
  actedOn('the format in which the duration is read', 'content[input_audio]: .input_audio.format'),
  held(
    'a file: its pages where they can be counted, or else the whole context window',
    'content[file] .file .file.file_data',
    'file',
  ),
  refused(
    'content at the provider that the gateway cannot see',
    'content[file]: .file.file_id messages[assistant]: .audio .audio.id',
  ),
  held(
    'input, and once more as output, since rejected tokens are billed',
    'prediction[content]: .content',
    'predicted',
  ),
  held('text of the input, but for its content', 'prediction prediction[content]'),
  held('output at the price of audio', 'audio audio.format audio.voice audio.voice.id modalities=audio', 'output'),
  free('what every model writes', 'modalities modalities=text'),
  priced('a search with each request: the price `web_search`', 'web_search_options'),
  priced(
    'it changes the price of a search: a price under `tools` for the variant, or 400',
    'web_search_options.search_context_size=high',
    'variant',
  ),
  free(
    'within the price of a search',
    'web_search_options.search_context_size web_search_options.search_context_size=low|medium',
  ),
  free('it costs no more than its text', 'web_search_options.user_location user_location[approximate] .approximate.**'),
  priced('a tier has prices of its own under `service_tiers`', 'service_tier=fast|flex|priority|scale'),
  free('the ordinary prices', 'service_tier service_tier=auto|default'),
  refused(
    'a long cache write costs more, and usage would not say how much it was',
    'content[text|image_url|input_audio|file]: .prompt_cache_breakpoint.ttl=12h',
  ),
  free(
    'a cache write of the ordinary kind, which is held for all of the input',
    `content[text|image_url|input_audio|file]: .prompt_cache_breakpoint .prompt_cache_breakpoint.mode .prompt_cache_breakpoint.ttl
    .prompt_cache_breakpoint.ttl=30m prompt_cache_options prompt_cache_options.mode prompt_cache_options.ttl
    prompt_cache_options.ttl=30m prompt_cache_key`,
  ),
  free(
    'cached input costs the same however long it is kept',
    'prompt_cache_retention prompt_cache_retention=24h|in_memory',
  ),
  free(
    'what it makes the model write is output',
    'reasoning_effort verbosity logit_bias logit_bias.* parallel_tool_calls seed',
  ),
  free('probabilities are not billed', 'logprobs top_logprobs'),
  free('models of moderation cost nothing', 'moderation.**'),
  free('a name for the records of the provider', 'metadata.** safety_identifier user'),
  free('what is stored for later is no input', 'store'),
  free('padding of events is not billed', 'stream_options.include_obfuscation'),
];

const USAGE = `.usage .usage.prompt_tokens .usage.completion_tokens .usage.total_tokens`;
const DETAILS = `.usage.prompt_tokens_details .usage.completion_tokens_details`;

export const CHAT_ANSWER = [
  actedOn('kept, to find the request at the provider', '[chat.completion|chat.completion.chunk] .id .model'),
  actedOn(
    'says which answer is complete',
    '[chat.completion|chat.completion.chunk]: .choices .choices.index .choices.finish_reason',
  ),
  actedOn(
    'output: its text is counted as it comes',
    `[chat.completion]: .choices.message [assistant] .content .refusal .tool_calls .function_call .function_call.arguments .function_call.name
    [chat.completion.chunk]: .choices.delta .choices.delta.content .choices.delta.refusal .choices.delta.tool_calls
    .choices.delta.function_call .choices.delta.function_call.arguments .choices.delta.function_call.name
    tool_calls[custom] .custom .custom.input .custom.name .function .function.arguments .function.name
    tool_calls[function] .custom .custom.input .custom.name .function .function.arguments .function.name`,
  ),
  actedOn(
    'output: audio is counted by its length as it comes, at the price of audio',
    '[assistant]: .audio .audio.data [chat.completion.chunk]: .choices.delta.audio .choices.delta.audio.data',
  ),
  actedOn(
    'output: the words of audio are written as text beside it',
    '[assistant]: .audio.transcript [chat.completion.chunk]: .choices.delta.audio.transcript',
  ),
  actedOn('billed by these figures', `[chat.completion|chat.completion.chunk]: ${USAGE} ${DETAILS}`),
  priced(
    'a part of the usage with a price of its own',
    `[chat.completion|chat.completion.chunk]: .usage.prompt_tokens_details.cached_tokens .usage.prompt_tokens_details.cache_write_tokens
    .usage.prompt_tokens_details.audio_tokens .usage.prompt_tokens_details.image_tokens
    .usage.completion_tokens_details.audio_tokens`,
  ),
  free(
    'within the tokens that are billed, at the same price',
    `[chat.completion|chat.completion.chunk]: .usage.prompt_tokens_details.text_tokens
    .usage.completion_tokens_details.accepted_prediction_tokens .usage.completion_tokens_details.reasoning_tokens
    .usage.completion_tokens_details.rejected_prediction_tokens .usage.completion_tokens_details.text_tokens`,
  ),
  priced('the tier that served it, if it has prices', '[chat.completion|chat.completion.chunk]: .service_tier'),
  free(
    'not billed',
    `[chat.completion|chat.completion.chunk]: .choices.logprobs.** .created .moderation.** .system_fingerprint
    [chat.completion]: .metadata.** [chat.completion.chunk]: .obfuscation .choices.delta.role .choices.delta.audio.id
    .choices.delta.audio.expires_at [assistant]: .annotations .audio.id .audio.expires_at annotations[url_citation].**
    tool_calls[custom|function]: .id .index`,
  ),
];
