/** The headers that the gateway itself writes. */
import type { RateFigures } from '../ledger/ledger.ts';

/** The six rate-limit headers of the specification. */
export function rateHeaders(figures: RateFigures): Record<string, string> {
  return {
    'X-RateLimit-Limit-Requests': String(figures.limitRequests),
    'X-RateLimit-Remaining-Requests': String(figures.remainingRequests),
    'X-RateLimit-Reset-Requests': String(figures.resetRequestsS),
    'X-RateLimit-Limit-Tokens': String(figures.limitTokens),
    'X-RateLimit-Remaining-Tokens': String(figures.remainingTokens),
    'X-RateLimit-Reset-Tokens': String(figures.resetTokensS),
  };
}
