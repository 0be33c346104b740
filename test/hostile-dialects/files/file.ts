/** What is in the files of attacks. A host unpacks them; the truthful one knows what it finds in those that were made here. */

/** What a host makes tokens of. */
export interface Contents {
  readonly pages?: number;
  /** Of sound. */
  readonly seconds?: number;
  /** Of film. */
  readonly filmSeconds?: number;
  readonly textTokens?: number;
  /** In pixels. */
  readonly picture?: { readonly width: number; readonly height: number };
}

const known = new Map<string, Contents>();

/** The bytes in base64, as requests have them. */
export function fileOf(bytes: Buffer, contents: Contents): string {
  const data = bytes.toString('base64');
  known.set(data, contents);
  return data;
}

/** What is in a file that was made by `fileOf`; undefined for all others. */
export function contentsOf(data: string): Contents | undefined {
  return known.get(data);
}
