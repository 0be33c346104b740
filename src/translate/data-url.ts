/** Parses base64 data URLs, the neutral form of images and files. */

const DATA_URL = /^data:([^,;]{1,100})(?:;[^,;]{0,100}){0,5};base64,/i;

export const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Returns `mediaType` in lower case. */
export function readDataUrl(url: string): { readonly mediaType: string; readonly data: string } | undefined {
  const match = DATA_URL.exec(url);
  return match === null ? undefined : { mediaType: String(match[1]).toLowerCase(), data: url.slice(match[0].length) };
}
