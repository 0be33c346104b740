/** Origins in the config file: they must be exactly what browsers send. Pure. */

/** Of apps that are no web pages, such as `tauri://localhost`. The rules for http do not hold there. */
const OTHER_ORIGIN = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[a-z0-9][a-z0-9.-]*(?::\d{1,5})?$/;
const EXPECTED =
  'expected an origin as browsers send it: scheme, host, and the port if it is not the usual one, such as';

/** What is wrong with an origin, and how it is written; undefined if nothing is. */
export function faultOfOrigin(text: string): string | undefined {
  if (text === '*' || OTHER_ORIGIN.test(text)) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // A pattern has the form of a host name.
  const isWeb = url !== undefined && /^https?:$/.test(url.protocol) && !url.hostname.includes('*');
  if (isWeb && url.origin === text) return undefined;
  return `${EXPECTED} ${isWeb ? url.origin : 'https://app.example'}`;
}
