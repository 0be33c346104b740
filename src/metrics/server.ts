/** Serves the metrics page and checks the Host header. */
import { isIP } from 'node:net';
import { isLoopback, type ListenAddress } from '../core/address.ts';
import { type Answer, SideServer } from '../http/side-server.ts';
import { CONTENT_TYPE } from './page.ts';

export interface MetricsAddress {
  readonly listen: ListenAddress;
  /** Accepted host names in addition to localhost and IP addresses. */
  readonly hosts: readonly string[];
}

/** `isTakenOver`: another process listens on the address and is about to stop. Rejects with a UserError. */
export function listenForMetrics({ listen, hosts }: MetricsAddress, isTakenOver: boolean): Promise<SideServer> {
  return SideServer.listen(listen, { setting: 'metrics', isTakenOver, knowsHost: hostCheck(listen, hosts) });
}

/** Serves the result of `print`. Concurrent requests share one call. */
export function serveMetrics(server: SideServer, print: () => Promise<string>): void {
  let printing: Promise<Answer> | undefined;
  const page = () => {
    printing ??= print()
      .then((body) => ({ status: 200, type: CONTENT_TYPE, body }))
      .finally(() => {
        printing = undefined;
      });
    return printing;
  };
  server.serve(new Map([['/metrics', page]]));
}

/**
 * Protects a loopback listener from DNS rebinding: a web page could point its own domain at 127.0.0.1 and read the figures from a
 * browser on this machine. Listeners on other addresses are reachable by other machines anyway.
 */
function hostCheck({ host }: ListenAddress, hosts: readonly string[]): (host: string) => boolean {
  if (host !== 'localhost' && !isLoopback(host)) return () => true;
  return (name) => name === '' || name === 'localhost' || isIP(name) !== 0 || hosts.includes(name);
}
