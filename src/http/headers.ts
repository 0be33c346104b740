/**
 * The rate-limit headers, as a flat list of names and values: the form that Node serializes
 * fastest.
 */
import type { RateFigures } from '../core/limits.ts';

/** Appends the six `X-RateLimit-*` headers. */
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
