/**
 * The gateway's own response headers, and the rate-limit headers as a flat list of names and values, the form that is serialized
 * fastest.
 */
import type { RateFigures } from '../core/limits.ts';

/** Response headers that clients use. CORS exposes them to pages of other origins. */
export const SENT_HEADERS = {
  limitRequests: 'X-RateLimit-Limit-Requests',
  remainingRequests: 'X-RateLimit-Remaining-Requests',
  resetRequests: 'X-RateLimit-Reset-Requests',
  limitTokens: 'X-RateLimit-Limit-Tokens',
  remainingTokens: 'X-RateLimit-Remaining-Tokens',
  resetTokens: 'X-RateLimit-Reset-Tokens',
  requestId: 'X-Request-Id',
  /** The name that Anthropic's clients expect. */
  anthropicRequestId: 'Request-Id',
  retryAfter: 'Retry-After',
  shouldRetry: 'x-should-retry',
  model: 'X-Inf-Gw-Model',
  ignored: 'X-Inf-Gw-Ignored',
  cache: 'X-Inf-Gw-Cache',
  age: 'Age',
} as const;

/** Appends the six `X-RateLimit-*` headers. */
export function addRateHeaders(headers: string[], figures: RateFigures): void {
  headers.push(
    SENT_HEADERS.limitRequests,
    String(figures.limitRequests),
    SENT_HEADERS.remainingRequests,
    String(figures.remainingRequests),
    SENT_HEADERS.resetRequests,
    String(figures.resetRequestsS),
    SENT_HEADERS.limitTokens,
    String(figures.limitTokens),
    SENT_HEADERS.remainingTokens,
    String(figures.remainingTokens),
    SENT_HEADERS.resetTokens,
    String(figures.resetTokensS),
  );
}
