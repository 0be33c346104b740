/** Server addresses in the form used by spans. */

/** An upstream's host in span attributes. */
export interface TracedHost {
  /** `gen_ai.provider.name`: the vendor of its protocol. */
  readonly provider: string;
  /** Undefined for the built-in mock provider. */
  readonly address: string | undefined;
  readonly port: number | undefined;
}

/** Returns host name and port of a URL; undefined if it is invalid. */
export function addressOf(text: string): { readonly address: string; readonly port: number } | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return undefined;
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return { address: url.hostname.replace(/^\[(.*)\]$/, '$1'), port };
}
