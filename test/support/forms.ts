/** Forms with files, as clients send them. */

export interface EncodedForm {
  readonly body: Buffer;
  readonly headers: { readonly 'content-type': string };
}

/** In the order of the fields. A buffer is a file. */
export async function formOf(
  fields: readonly (readonly [name: string, value: string | Buffer])[],
): Promise<EncodedForm> {
  const form = new FormData();
  for (const [name, value] of fields) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, new Blob([new Uint8Array(value)]), 'file.bin');
  }
  const encoded = new Response(form);
  const type = encoded.headers.get('content-type') ?? '';
  return { body: Buffer.from(await encoded.arrayBuffer()), headers: { 'content-type': type } };
}
