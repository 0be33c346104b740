/** Where a server is, as spans name it. */

/** An upstream, as traces show it. */
export interface TracedHost {
  /** `gen_ai.provider.name`: whose protocol it speaks. */
  readonly provider: string;
  /** Undefined if it is in this process. */
  readonly address: string | undefined;
  readonly port: number | undefined;
}

/** The name and the port of a server. Undefined if the text is no address. */
export function addressOf(text: string): { readonly address: string; readonly port: number } | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return undefined;
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return { address: url.hostname.replace(/^\[(.*)\]$/, '$1'), port };
}
