/** What checked requests for text have in common, whatever their dialect. */
import { MAX_TPM } from '../core/limits.ts';
import type { JsonBody } from '../wire/body.ts';
import { audioBytesPerToken } from './audio-output.ts';
import type { Dialect, ModelRequest } from './dialect.ts';

/** What each dialect reads its own way, and what few have at all. */
type Own = Pick<ModelRequest, 'serviceTier' | 'hiddenThinking' | 'cacheWrite' | 'hostTools'> & Partial<ModelRequest>;

/**
 * A valid request. `maximum`: its declared maximum of output tokens, if it has one. A larger one counts as `MAX_TPM`, which
 * exceeds every limit on tokens per minute that can be set.
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
