/** Request fields without an equivalent on hosts other than OpenAI and Anthropic. */
import { isObject } from '../core/json.ts';
import { type Findings, isEmptyValue, UNTRANSLATABLE } from './findings.ts';
import type { NeutralRequest } from './request.ts';

/** Refuses fields that would change the answer, and ignores notes and hints. */
export function noteUntranslatable(request: NeutralRequest, findings: Findings): void {
  const { topLogprobs, logprobsField, metadata, verbosity, user, safetyIdentifier, cacheHints, parallelCalls } =
    request;
  if (topLogprobs !== undefined) findings.refuse(topLogprobs.field, `expected 0: ${UNTRANSLATABLE}`);
  if (logprobsField !== undefined) findings.refuse(logprobsField, `expected no logprobs: ${UNTRANSLATABLE}`);
  if (isObject(metadata) && Object.keys(metadata).length > 0) findings.ignore('metadata');
  if (verbosity !== undefined && verbosity.value !== 'medium') findings.ignore(verbosity.field);
  if (!isEmptyValue(user)) findings.ignore('user');
  if (!isEmptyValue(safetyIdentifier)) findings.ignore('safety_identifier');
  if (!isEmptyValue(cacheHints?.key)) findings.ignore('prompt_cache_key');
  if (!isEmptyValue(cacheHints?.retention)) findings.ignore('prompt_cache_retention');
  if (cacheHints?.options !== undefined) findings.ignore('prompt_cache_options');
  // Ignored, because these hosts cannot prevent parallel calls.
  if (parallelCalls === false && request.tools.length > 0) findings.ignore('parallel_tool_calls');
}
