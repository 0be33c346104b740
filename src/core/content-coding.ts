/** Whether a body has a content coding, by its header `Content-Encoding`. `identity` is none, in any case and however often. */
export function isEncoded(header: string | undefined): boolean {
  const codings = header?.split(',') ?? [];
  return codings.some((coding) => !/^\s*(?:identity)?\s*$/i.test(coding));
}
