/** Health checks: their responses, and a separate address for them that clients cannot saturate. */
import type { ListenAddress } from '../core/address.ts';
import { type Answer, SideServer } from './side-server.ts';

export const HEALTHZ = '/healthz';
export const READYZ = '/readyz';

/** The liveness response. */
export function healthy(): Answer {
  return answer(200, 'ok');
}

/** The readiness response. `storageFault`: why the state cannot be written. */
export function readiness(isDraining: boolean, storageFault: string | undefined): Answer {
  if (isDraining) return answer(503, 'draining');
  return storageFault === undefined ? answer(200, 'ready') : answer(503, 'storage_fault');
}

function answer(status: number, text: string): Answer {
  return { status, type: 'application/json', body: JSON.stringify({ status: text }) };
}

/** `isTakenOver`: another process listens on the address and will stop. Rejects with a UserError. */
export function listenForHealth(listen: ListenAddress, isTakenOver: boolean): Promise<SideServer> {
  return SideServer.listen(listen, { setting: 'health', isTakenOver, knowsHost: () => true });
}

export function serveHealth(server: SideServer, ready: () => Answer): void {
  server.serve(
    new Map([
      [HEALTHZ, healthy],
      [READYZ, ready],
    ]),
  );
}
