/** The rate-limit figures of a client whose key is unknown, and which limit a window has. Pure. */
import type { Limits, RateFigures } from '../core/limits.ts';

/** Which window of a key the rate-limit figures describe. */
export type RequestWindow = 'requests' | 'listings';

/** The default limits, with nothing used. */
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
