/** Reports whether a `Content-Encoding` header specifies a coding other than `identity`, which may be repeated in any case. */
export function isEncoded(header: string | undefined): boolean {
  const codings = header?.split(',') ?? [];
  return codings.some((coding) => !/^\s*(?:identity)?\s*$/i.test(coding));
}
