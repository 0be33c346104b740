/** The mark by which Claude Code asks for the long context of a model, in its name. Pure. */
import type { DialectName } from '../core/dialects.ts';
import type { Model } from './catalog.ts';

const MARK = '[1m]';
/** What tells the host of it, among the values of `anthropic-beta`. */
export const LONG_CONTEXT_BETA = 'context-1m-2025-08-07';
/** Whether a value of `anthropic-beta`, in lower case, asks for a long context. */
export function isLongContextBeta(value: string): boolean {
  return value.startsWith('context-1m-');
}

/** The context that every model of Anthropic has without it, in tokens. */
const PLAIN_CONTEXT_TOKENS = 200_000;

/** A name without its mark; undefined if it has none, or the dialect knows no marks. */
export function unmarkedName(name: string, dialect: DialectName): string | undefined {
  return dialect === 'messages' && name.endsWith(MARK) ? name.slice(0, -MARK.length) : undefined;
}

/** Whether the config says what a long context of this model costs. Otherwise a name could open one at the plain price. */
export function hasLongContext({ above, contextWindow = 0 }: Pick<Model, 'above' | 'contextWindow'>): boolean {
  return above !== undefined || contextWindow > PLAIN_CONTEXT_TOKENS;
}
