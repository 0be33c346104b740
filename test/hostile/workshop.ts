/** Opens what attacks need, once, and closes all of it in the end. */
import { DialectSite } from '../hostile-dialects/site.ts';
import type { Scope } from '../support/run-scope.ts';
import { SITES, type SiteName, type WorkshopLike } from './attack.ts';
import { HostileSite } from './site.ts';

/** How long a host may be silent before an impatient gateway gives up. */
const SHORT = '250ms';

export class Workshop implements WorkshopLike {
  readonly scope: Scope;
  readonly isLong: boolean;
  readonly #sites = new Map<SiteName, Promise<HostileSite>>();
  #dialects: Promise<DialectSite> | undefined;
  #impatient: Promise<DialectSite> | undefined;

  constructor(scope: Scope, isLong = false) {
    this.scope = scope;
    this.isLong = isLong;
  }

  site(name: SiteName): Promise<HostileSite> {
    const known = this.#sites.get(name);
    if (known !== undefined) return known;
    const opening = this.#open(name);
    this.#sites.set(name, opening);
    return opening;
  }

  dialects(): Promise<DialectSite> {
    this.#dialects ??= this.#stopping(DialectSite.open());
    return this.#dialects;
  }

  impatient(): Promise<DialectSite> {
    const timeouts = { connect: '2m', first_byte: SHORT, idle: SHORT, request: '2m', drain: '2m' };
    this.#impatient ??= this.#stopping(DialectSite.open({ config: { timeouts } }));
    return this.#impatient;
  }

  #open(name: SiteName): Promise<HostileSite> {
    return this.#stopping(HostileSite.open(SITES[name]));
  }

  async #stopping<Site extends { stop(): Promise<void> }>(opening: Promise<Site>): Promise<Site> {
    const site = await opening;
    this.scope.after(() => site.stop());
    return site;
  }
}
