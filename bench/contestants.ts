/** The servers that are measured beside each other, and their names. */
import { fileURLToPath } from 'node:url';
import { BARE_PROXY, BAREST_PROXY, gateway, proxy, type Server } from './targets.ts';

export const CHECKOUT = fileURLToPath(new URL('..', import.meta.url));
/** The gateway with its defaults: one thread, the ledger on, every charge synced to disk. */
export const GATEWAY = 'gateway';
export const CRASH = 'durability: crash';
export const THREADS = 'threads: 2';
const LOG = 'log: info';
/** The gateway of a second checkout. */
export const OTHER_GATEWAY = 'other gateway';
/** What targets are compared with: the least that node:http and undici cost, with no checks and no ledger. */
export const YARDSTICK = BAREST_PROXY;

/** Gateways that differ from the default one in a single setting. */
const VARIANTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  [CRASH]: { durability: 'crash' },
  [THREADS]: { threads: 2 },
  [LOG]: { log: { level: 'info' } },
};

export const VARIANT_NAMES: readonly string[] = Object.keys(VARIANTS);

export function isVariant(name: string): boolean {
  return VARIANT_NAMES.includes(name);
}

/** The two bare proxies and the gateway. */
export async function usualServers(upstreamPort: number): Promise<Server[]> {
  return [
    await proxy(BARE_PROXY, upstreamPort),
    await proxy(BAREST_PROXY, upstreamPort),
    await gateway({ name: GATEWAY, checkout: CHECKOUT }, upstreamPort),
  ];
}

export async function variantServers(upstreamPort: number): Promise<Server[]> {
  const servers: Server[] = [];
  for (const [name, settings] of Object.entries(VARIANTS)) {
    servers.push(await gateway({ name, checkout: CHECKOUT, settings }, upstreamPort));
  }
  return servers;
}

/** The gateway of another checkout, which must be built. */
export function otherGateway(checkout: string, upstreamPort: number): Promise<Server> {
  return gateway({ name: OTHER_GATEWAY, checkout }, upstreamPort);
}
