/**
 * Reads the betas of Anthropic's API from a body. Hosts of Claude at other vendors take them from the body, since their
 * clients send no header.
 */
import { foldCase } from '../wire/names.ts';
import type { Fields } from './dialect.ts';

export const BETAS_FIELD = 'anthropic_beta';

/** Betas in a field that some host may read, in any letter case. */
export interface NamedBetas {
  readonly field: string;
  readonly betas: readonly string[];
}

export function betasIn(fields: Fields): readonly NamedBetas[] {
  return Object.keys(fields)
    .filter((name) => name.length === BETAS_FIELD.length && foldCase(name) === BETAS_FIELD)
    .map((field) => ({ field, betas: textsIn(fields[field]).flatMap((text) => text.split(',')) }));
}

/** Returns the strings at any depth, since hosts may be lenient. MAX_JSON_DEPTH bounds the recursion. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** Checks the field in the messages dialect, where the gateway acts on it. */
export function checkBetas(value: unknown): string | undefined {
  const isValid = value === undefined || [value].flat().every((each) => typeof each === 'string');
  return isValid ? undefined : `${BETAS_FIELD}: expected a string, or an array of strings`;
}
