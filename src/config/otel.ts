/** Builds the `otel` field of the config: the export of traces. */
import type { OtelConfig } from './config.ts';
import { faultOfHeaderName, faultOfHeaderValue } from './headers.ts';
import type { ParsedConfig } from './schema.ts';
import { expandField, type ReferenceSource } from './secrets.ts';

/** The path for spans in OTLP over HTTP. */
const TRACES_PATH = '/v1/traces';

/**
 * Undefined without traces, or if a variable of their headers is not set: commands run in other environments than the
 * gateway. If it records a problem, the result must not be used.
 */
export function buildOtel(
  otel: ParsedConfig['otel'],
  source: ReferenceSource,
  addProblem: (path: PropertyKey[], message: string) => void,
  addWarning: (text: string) => void,
): OtelConfig | undefined {
  if (otel === undefined) return undefined;
  const missing = new Set<string>();
  const expand = (path: string[], text: string): string => {
    const { value, missingVariable } = expandField(text, source, (message) => addProblem(['otel', ...path], message));
    if (missingVariable !== undefined) missing.add(missingVariable);
    return value;
  };
  const headers: Record<string, string> = {};
  for (const [name, text] of Object.entries(otel.headers)) {
    const path = ['headers', name];
    const value = expand(path, text);
    const fault = faultOfHeaderName(name) ?? faultOfHeaderValue(value);
    if (fault !== undefined) addProblem(['otel', ...path], fault);
    headers[name.toLowerCase()] = value;
  }
  const endpoint = expand(['endpoint'], otel.endpoint);
  if (missing.size > 0) {
    addWarning(`otel: there are no traces, since ${[...missing].join(' and ')} is not set`);
    return undefined;
  }
  const url = tracesUrl(endpoint);
  if ('fault' in url) addProblem(['otel', 'endpoint'], url.fault);
  return { url: 'href' in url ? url.href : '', headers, attributes: otel.attributes, sampleRatio: otel.sample };
}

/** The address for spans, or the problem with its base address. */
function tracesUrl(endpoint: string): { readonly href: string } | { readonly fault: string } {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  const isBare = url !== undefined && [url.username, url.password, url.search, url.hash].every((part) => part === '');
  if (url === undefined || !isBare || !/^https?:$/.test(url.protocol)) {
    return {
      fault:
        'expected the base address of a collector, with no password or query, such as http://127.0.0.1:4318; secrets belong in headers',
    };
  }
  const path = url.pathname.replace(/\/+$/, '');
  if (path.endsWith(TRACES_PATH))
    return { fault: `expected the address without ${TRACES_PATH}, which the gateway appends` };
  return { href: `${url.origin}${path}${TRACES_PATH}` };
}
