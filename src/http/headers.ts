/** The headers that the gateway itself writes: names and values in turn, the form that Node writes out quickest. */
import type { RateFigures } from '../core/limits.ts';

/** Adds the six rate-limit headers of the specification. */
export function addRateHeaders(headers: string[], figures: RateFigures): void {
  headers.push(
    'X-RateLimit-Limit-Requests',
    String(figures.limitRequests),
    'X-RateLimit-Remaining-Requests',
    String(figures.remainingRequests),
    'X-RateLimit-Reset-Requests',
    String(figures.resetRequestsS),
    'X-RateLimit-Limit-Tokens',
    String(figures.limitTokens),
    'X-RateLimit-Remaining-Tokens',
    String(figures.remainingTokens),
    'X-RateLimit-Reset-Tokens',
    String(figures.resetTokensS),
  );
}
