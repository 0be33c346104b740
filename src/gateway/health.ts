/** An address for health checks alone, which no client can fill. */
import type { ListenAddress } from '../core/address.ts';
import { HEALTHZ, type Health, healthy, READYZ, readiness } from '../http/readiness.ts';
import { SideServer } from '../http/side-server.ts';

/** `isTakenOver`: another process listens on the address and will stop. Rejects with a UserError. */
export function listenForHealth(listen: ListenAddress, isTakenOver: boolean): Promise<SideServer> {
  return SideServer.listen(listen, { setting: 'health', isTakenOver, knowsHost: () => true });
}

/** What a gateway is asked for. */
export interface Condition {
  readonly draining: boolean;
  readonly storageFault: string | undefined;
}

export function serveHealth(server: SideServer, read: () => Condition): void {
  server.serve(
    new Map([
      [HEALTHZ, () => answer(healthy())],
      [READYZ, () => answer(readiness(read().draining, read().storageFault))],
    ]),
  );
}

function answer(health: Health) {
  return { ...health, type: 'application/json' };
}
