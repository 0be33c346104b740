/** The shape of `refuse_headers`: headers that requests to a provider may not have, with any value or with one. */
import * as z from 'zod';
import { DIALECT_HEADERS, type RefusedHeader } from '../core/dialects.ts';

const NAMES: readonly string[] = Object.values(DIALECT_HEADERS).flat();
const EXPECTED = `expected one of ${NAMES.join(', ')}, which reach hosts, or one with a value, such as "anthropic-beta: a-beta-*"`;

/** A string, or the map that YAML makes of an entry with a colon. */
const refusedHeader = z
  .union([z.string(), z.record(z.string(), z.string())], { error: () => EXPECTED })
  .transform((entry, context): RefusedHeader => {
    const written =
      typeof entry === 'string'
        ? entry
        : Object.entries(entry)
            .map((pair) => pair.join(':'))
            .join(',');
    const [name = '', ...rest] = written.toLowerCase().split(':');
    const value = rest.length === 0 ? undefined : rest.join(':').trim();
    if (NAMES.includes(name.trim()) && value !== '' && !value?.includes(',')) return { name: name.trim(), value };
    context.addIssue({ code: 'custom', message: EXPECTED });
    return z.NEVER;
  });

export const refusedHeaders = z
  .array(refusedHeader, { error: () => 'expected a list of headers, such as [openai-beta]' })
  .default([]);
