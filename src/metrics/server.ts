/** The address of the metrics: which names it has, and what is there. */
import { isIP } from 'node:net';
import { isLoopback, type ListenAddress } from '../core/address.ts';
import { type Answer, SideServer } from '../http/side-server.ts';
import { CONTENT_TYPE } from './page.ts';

export interface MetricsAddress {
  readonly listen: ListenAddress;
  /** Names of the machine that those who ask may use. */
  readonly hosts: readonly string[];
}

/** `isTakenOver`: another process listens on the address and will stop. Rejects with a UserError. */
export function listenForMetrics({ listen, hosts }: MetricsAddress, isTakenOver: boolean): Promise<SideServer> {
  return SideServer.listen(listen, { setting: 'metrics', isTakenOver, knowsHost: hostCheck(listen, hosts) });
}

/** Serves what `print` returns: once for everybody who asks meanwhile. */
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
 * A page in a browser of this machine can give its own name the address 127.0.0.1 and would then read the spending, as
 * its own. An address that other machines reach has no such protection to lose.
 */
function hostCheck({ host }: ListenAddress, hosts: readonly string[]): (host: string) => boolean {
  if (host !== 'localhost' && !isLoopback(host)) return () => true;
  return (name) => name === '' || name === 'localhost' || isIP(name) !== 0 || hosts.includes(name);
}
