/** Recognizes errors by which a host rejects the request itself, in any dialect. Pure. */
import { CONTEXT_LENGTH, type RequestFault } from '../core/errors.ts';
import type { UpstreamWords } from './upstream-error.ts';

/** Codes of OpenAI's API for request faults, on which clients of the responses dialect act. */
const CODES: ReadonlySet<string> = new Set([
  ...[CONTEXT_LENGTH, 'invalid_prompt', 'content_filter', 'cyber_policy', 'bio_policy', 'string_above_max_length'],
  ...['invalid_image', 'invalid_image_format', 'invalid_base64_image', 'invalid_image_url', 'invalid_image_mode'],
  ...['image_too_large', 'image_too_small', 'image_parse_error', 'image_file_too_large', 'image_file_not_found'],
  ...['image_content_policy_violation', 'unsupported_image_media_type', 'empty_image_file', 'failed_to_download_image'],
]);

/**
 * Errors for an input beyond the context window, with its tokens and the maximum if the host states them: OpenAI, xAI,
 * Groq, DeepSeek, vLLM, Mistral, llama.cpp, Anthropic, Amazon and Google.
 */
const OVERFLOWS: readonly RegExp[] = [
  /prompt is too long(?:: (?<tokens>\d+) tokens > (?<maximum>\d+) maximum)?/i,
  /maximum context length is (?<maximum>\d+) tokens\b(?:.{0,80}?\b(?:requested|resulted in|has)(?: about)? (?<tokens>\d+)\b)?/is,
  /maximum prompt length is (?<maximum>\d+) but the request contains (?<tokens>\d+) tokens/i,
  /input token count (?:\((?<tokens>\d+)\) |(?:of )?\d* ?)?exceeds the maximum number of (?:input )?tokens allowed(?: \(?(?<maximum>\d+))?/i,
  /prompt contains (?<tokens>\d+) tokens.{0,120}?(?<maximum>\d+) maximum context length/is,
  /request \((?<tokens>\d+) tokens\) exceeds the available context size(?: \((?<maximum>\d+) tokens\))?/i,
  /(?:exceeds?|exceeded|longer than) (?:the |this |your )?(?:model'?s? )?(?:available )?(?:context (?:size|length|window)|maximum context length)/i,
  /\binput is too long for (?:the )?requested model/i,
  /(?:reduce|shorten) the length of the (?:messages|prompt|input)/i,
];
/** Hosts also mention the context length if only the output maximum is too large. */
const OUTPUT_ALONE = /max_(?:completion_|output_)?tokens['"`]?(?: or ['"`]?max_\w+['"`]?)? is too large/i;

/** Returns the request fault; undefined for any other error. */
export function requestFaultIn({ message, labels }: UpstreamWords): RequestFault | undefined {
  if (!OUTPUT_ALONE.test(message)) {
    for (const pattern of OVERFLOWS) {
      const groups = pattern.exec(message)?.groups;
      if (groups !== undefined || pattern.test(message)) return overflow(groups?.tokens, groups?.maximum);
    }
  }
  if (labels.some((label) => label === CONTEXT_LENGTH || label === 'exceed_context_size_error')) return overflow();
  const code = labels.find((label) => CODES.has(label));
  return code === undefined ? undefined : { code };
}

function overflow(tokens?: string, maximum?: string): RequestFault {
  const isKnown = tokens !== undefined && maximum !== undefined;
  return { code: CONTEXT_LENGTH, ...(isKnown && { overflow: { tokens: Number(tokens), maximum: Number(maximum) } }) };
}
