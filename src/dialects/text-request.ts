/** The common part of checked requests for text. */
import { MAX_TPM } from '../core/limits.ts';
import type { JsonBody } from '../wire/body.ts';
import { audioBytesPerToken } from './audio-output.ts';
import type { Dialect, ModelRequest } from './dialect.ts';

/** Fields that each dialect reads in its own way, and optional ones. */
type Own = Pick<ModelRequest, 'serviceTier' | 'hiddenThinking' | 'cacheWrite' | 'hostTools'> & Partial<ModelRequest>;

/**
 * Returns a valid request. `maximum`: its declared maximum of output tokens, if any. A larger one counts as `MAX_TPM`,
 * which exceeds every configurable limit on tokens per minute.
 */
export function textRequest<Read extends Own>(
  dialect: Dialect,
  body: JsonBody,
  model: string,
  maximum: number | undefined,
  own: Read,
) {
  return {
    dialect,
    body,
    model,
    stream: body.fields.stream === true,
    includeUsage: true,
    maxOutput: maximum === undefined ? undefined : Math.min(maximum, MAX_TPM),
    choices: 1,
    asked: [],
    predictedTokens: 0,
    audioBytesPerToken: audioBytesPerToken(),
    summarizesAbove: undefined,
    ...own,
  };
}
