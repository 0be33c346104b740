/** Field checks that dialects share. */
import { fieldOfTier } from '../core/price-tiers.ts';
import { printableName } from '../core/printable.ts';
import { findCaseVariant } from '../wire/names.ts';
import type { Fields } from './dialect.ts';

/** Returns the problem with a value, or undefined. */
export type Check = (value: unknown, fields: Fields) => string | undefined;

/** The checks of the fields at the top level, in order. null counts as absent and is passed as undefined. */
export type Checks = readonly (readonly [field: string, check: Check])[];

export function firstProblem(fields: Fields, checks: Checks): string | undefined {
  for (const [name, check] of checks) {
    const problem = check(fields[name] ?? undefined, fields);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/**
 * Returns the problem with a name that differs only by letter case from a name the gateway acts on. `parent`: such as
 * `stream_options.`.
 */
export function caseVariant(parent: string, names: Iterable<string>, actedOn: ReadonlySet<string>): string | undefined {
  const variant = findCaseVariant(names, actedOn);
  if (variant === undefined) return undefined;
  const { name, resembles } = variant;
  return `${parent}${printableName(name)}: differs from ${parent}${resembles} only by letter case; expected ${resembles}`;
}

export function wholeNumber(name: string, minimum: number, maximum?: number): Check {
  const range = maximum === undefined ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`;
  const most = maximum ?? Number.POSITIVE_INFINITY;
  return (value) => {
    if (value === undefined) return undefined;
    const isValid = typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= most;
    return isValid ? undefined : `${name}: expected a whole number ${range}`;
  };
}

export function number(name: string, minimum: number, maximum: number): Check {
  return (value) => {
    if (value === undefined) return undefined;
    const isValid = typeof value === 'number' && value >= minimum && value <= maximum;
    return isValid ? undefined : `${name}: expected a number from ${minimum} to ${maximum}`;
  };
}

export function flag(name: string): Check {
  return (value) => (value === undefined || typeof value === 'boolean' ? undefined : `${name}: expected true or false`);
}

export function text(name: string): Check {
  return (value) => (value === undefined || typeof value === 'string' ? undefined : `${name}: expected a string`);
}

/** Checks the name of a service tier. A name with `=` would be read as a value of another priced field. */
export const serviceTier: Check = (value, fields) =>
  text('service_tier')(value, fields) ??
  (typeof value === 'string' && fieldOfTier(value) !== 'service_tier'
    ? 'service_tier: expected the name of a service tier'
    : undefined);

/** Refuses a field. `why`: the alternative for the client. null counts as absent. */
export function refused(name: string, why: string): Check {
  return (value) => (value === undefined ? undefined : `${name}: ${why}`);
}

/** The refusal of a field that changes the price. */
export const PRICED = 'changes the price, and this gateway has no price for it; leave it out';

/** Refuses the maxima of other dialects: a host might read one that the gateway has not checked. */
export function foreignMaxima(own: string): readonly (readonly [field: string, check: Check])[] {
  return MAXIMA.filter((name) => name !== own && !(own === 'max_completion_tokens' && name === 'max_tokens')).map(
    (name) => [name, refused(name, `a field of another format; this one has ${own}`)],
  );
}

const MAXIMA = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'max_tokens_to_sample'];
