/** Request fields without an equivalent on hosts other than OpenAI and Anthropic. */
import { isObject } from '../core/json.ts';
import { type Findings, saysNothing, UNSAYABLE } from './findings.ts';
import type { NeutralRequest } from './request.ts';

/** Refuses fields that would change the answer, and ignores notes and hints. */
export function noteUnsayable(request: NeutralRequest, findings: Findings): void {
  const { topLogprobs, logprobsField, metadata, verbosity, user, safetyIdentifier, cacheHints, parallelCalls } =
    request;
  if (topLogprobs !== undefined) findings.refuse(topLogprobs.field, `expected 0: ${UNSAYABLE}`);
  if (logprobsField !== undefined) findings.refuse(logprobsField, `expected no logprobs: ${UNSAYABLE}`);
  if (isObject(metadata) && Object.keys(metadata).length > 0) findings.ignore('metadata');
  if (verbosity !== undefined && verbosity.value !== 'medium') findings.ignore(verbosity.field);
  if (!saysNothing(user)) findings.ignore('user');
  if (!saysNothing(safetyIdentifier)) findings.ignore('safety_identifier');
  if (!saysNothing(cacheHints?.key)) findings.ignore('prompt_cache_key');
  if (!saysNothing(cacheHints?.retention)) findings.ignore('prompt_cache_retention');
  if (cacheHints?.options !== undefined) findings.ignore('prompt_cache_options');
  // Ignored, because these hosts cannot prevent parallel calls.
  if (parallelCalls === false && request.tools.length > 0) findings.ignore('parallel_tool_calls');
}
