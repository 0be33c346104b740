/**
 * The form of an attack: what it tries to pass, the figure that says how far it came, and the most
 * that figure may be.
 */
import type { DialectSite } from '../hostile-dialects/site.ts';
import type { Scope } from '../support/run-scope.ts';
import { LONG_INPUT_TOKENS } from './pricing.ts';
import type { HostileSite, SiteOptions } from './site.ts';

/** What an attack tries to pass. */
export type Target =
  | 'balance'
  | 'spend limit'
  | 'budget'
  | 'token window'
  | 'allowlist'
  | 'block of an end user'
  | 'slot'
  | 'memory'
  | 'event loop'
  | 'other keys'
  | 'secrets'
  | 'terminal';

export interface Attack {
  /** The name of its test. */
  readonly claim: string;
  readonly passes: Target;
  /** What the attacker does. */
  readonly tries: string;
  /** What the figure counts, as it follows the figure: `times the balance`. */
  readonly unit: string;
  /** The most that the figure may be. */
  readonly most: number;
  /** Attacks, and returns the figure. */
  run(workshop: WorkshopLike): Promise<number>;
}

/** What attacks are made with. Sites of the same name are shared. */
export interface WorkshopLike {
  readonly scope: Scope;
  /** Attacks on memory use bodies of full size, which the tests of every day do not. */
  readonly isLong: boolean;
  site(name: SiteName): Promise<HostileSite>;
  /** A gateway before hosts of all dialects. */
  dialects(): Promise<DialectSite>;
  /** The same with short timeouts. */
  impatient(): Promise<DialectSite>;
}

/** The configs of the sites. */
export const SITES = {
  plain: {},
  capped: { config: { cap_output: true } },
  silent: { provider: { stream_usage: 'off' } },
  priced: {
    provider: { refuse_fields: ['models', 'route', 'fallbacks'] },
    model: {
      cache_write: 25,
      audio_input: 40,
      audio_output: 80,
      above: { tokens: LONG_INPUT_TOKENS, input: 5, output: 20 },
      service_tiers: { priority: { input: 5, output: 20 }, flex: { input: 1.25, output: 5 } },
    },
  },
} as const satisfies Record<string, SiteOptions>;

export type SiteName = keyof typeof SITES;

/** Attacks that belong together. */
export interface Family {
  readonly title: string;
  readonly about: string;
  readonly attacks: readonly Attack[];
}
