/** Rate-limit figures for unknown keys, and the limit of each window. Pure. */
import type { Limits, RateFigures } from '../core/limits.ts';

/** The window of a key that rate-limit figures describe. */
export type RequestWindow = 'requests' | 'listings';

/** Figures of the default limits, without any usage. */
export function untouchedFigures(name: RequestWindow, limits: Limits): RateFigures {
  const limitRequests = limitOf(name, limits);
  return {
    limitRequests,
    remainingRequests: limitRequests,
    resetRequestsS: 0,
    limitTokens: limits.tpm,
    remainingTokens: limits.tpm,
    resetTokensS: 0,
  };
}

export function limitOf(name: RequestWindow, limits: Limits): number {
  return name === 'requests' ? limits.rpm : limits.modelsRpm;
}
