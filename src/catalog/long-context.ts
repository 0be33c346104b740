/** The suffix of a model's name with which Claude Code requests a long context. Pure. */
import type { DialectName } from '../core/dialects.ts';
import type { Model } from './catalog.ts';

const MARK = '[1m]';
/** The value of `anthropic-beta` that requests it from the host. */
export const LONG_CONTEXT_BETA = 'context-1m-2025-08-07';
/** Whether a value of `anthropic-beta`, in lower case, requests a long context. */
export function isLongContextBeta(value: string): boolean {
  return value.startsWith('context-1m-');
}

/** The ordinary context of Anthropic's models, in tokens. */
const PLAIN_CONTEXT_TOKENS = 200_000;

/** A name without its suffix; undefined without a suffix, or in a dialect without suffixes. */
export function unmarkedName(name: string, dialect: DialectName): string | undefined {
  return dialect === 'messages' && name.endsWith(MARK) ? name.slice(0, -MARK.length) : undefined;
}

/**
 * Whether the config has prices for a long context of this model. Otherwise the suffix could open one at the ordinary price.
 */
export function hasLongContext({ above, contextWindow = 0 }: Pick<Model, 'above' | 'contextWindow'>): boolean {
  return above !== undefined || contextWindow > PLAIN_CONTEXT_TOKENS;
}
