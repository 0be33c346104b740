/** Network addresses and their notation in the config and in messages. */

/** A host and a port to listen on. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** `host:port`, with brackets around an IPv6 address. */
export function formatAddress({ host, port }: ListenAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The URL of an address, without a path. */
export function originOf(address: ListenAddress | string, isTls: boolean): string {
  return `${isTls ? 'https' : 'http'}://${typeof address === 'string' ? address : formatAddress(address)}`;
}

/** Returns the address at which processes on this machine reach a listener: a wildcard address becomes loopback. */
export function ownAddress(address: string): string {
  return address.replace(/^0\.0\.0\.0(?=:)/, '127.0.0.1').replace(/^\[::\](?=:)/, '[::1]');
}

/** Whether only this machine can reach an IP address. */
export function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address);
}
