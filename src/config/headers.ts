/** Checks headers in the config file: headers that the gateway adds, and headers that requests must not have. Pure. */
import * as z from 'zod';
import { DIALECT_HEADERS, type RefusedHeader } from '../core/dialects.ts';

/** Headers that the gateway or its HTTP client sets. */
const OWN_HEADERS = new Set([
  'host',
  'accept',
  'connection',
  'content-length',
  'content-type',
  'transfer-encoding',
  'accept-encoding',
  'expect',
  'upgrade',
  'te',
  'trailer',
  'keep-alive',
  'proxy-authorization',
]);

/** The problem with a header name; undefined for a valid one. */
export function faultOfHeaderName(name: string): string | undefined {
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) return 'expected the name of an HTTP header';
  return OWN_HEADERS.has(name.toLowerCase()) ? 'this header is set by the gateway' : undefined;
}

/** The problem with a header value; undefined for a valid one. The value itself is not shown, since it may be a secret. */
export function faultOfHeaderValue(value: string): string | undefined {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return undefined;
  return 'expected a value without line breaks or other characters that an HTTP header cannot contain';
}

/** Headers of clients that reach hosts. */
const PASSED_NAMES: readonly string[] = Object.values(DIALECT_HEADERS).flat();
const EXPECTED_REFUSED = `expected one of ${PASSED_NAMES.join(', ')}, which reach hosts, or one with a value, such as "anthropic-beta: a-beta-*"`;

/** A string, or the map that YAML makes of an entry with a colon. */
const refusedHeader = z
  .union([z.string(), z.record(z.string(), z.string())], { error: () => EXPECTED_REFUSED })
  .transform((entry, context): RefusedHeader => {
    const written =
      typeof entry === 'string'
        ? entry
        : Object.entries(entry)
            .map((pair) => pair.join(':'))
            .join(',');
    const [name = '', ...rest] = written.toLowerCase().split(':');
    const value = rest.length === 0 ? undefined : rest.join(':').trim();
    if (PASSED_NAMES.includes(name.trim()) && value !== '' && !value?.includes(','))
      return { name: name.trim(), value };
    context.addIssue({ code: 'custom', message: EXPECTED_REFUSED });
    return z.NEVER;
  });

/** The shape of `refuse_headers`: a header with any value, or with a certain one. */
export const refusedHeaders = z
  .array(refusedHeader, { error: () => 'expected a list of headers, such as [openai-beta]' })
  .default([]);
