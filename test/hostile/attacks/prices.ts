/**
 * Attacks with what changes a price: where the config has no price for it, the request is refused.
 */
import type { Family } from '../attack.ts';
import { billedOverCharged, OVER_CHARGED } from '../measures.ts';
import { asks } from '../site.ts';

export const PRICES: Family = {
  title: 'Prices with conditions',
  about: 'Some fields make a request more expensive at the host. What has no price in the config is refused.',
  attacks: [
    ...[false, true].map((stream) => ({
      claim: `a service tier without a price is not served at the standard one${stream ? ', in a stream either' : ''}`,
      passes: 'balance' as const,
      tries: `\`service_tier: "priority"\`${stream ? ' on a stream' : ''}, where the config has no price for it`,
      ...OVER_CHARGED,
      run: async (workshop: Parameters<Family['attacks'][number]['run']>[0]) =>
        billedOverCharged(await workshop.site('plain'), {
          body: asks('exact', { service_tier: 'priority', stream }),
          wish: { tokens: 1_500 },
        }),
    })),
  ],
};
