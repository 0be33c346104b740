/** What becomes of the fields at the top level of a request. */
import { printableName } from '../../core/printable.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { type Findings, UNSAYABLE } from '../findings.ts';
import { isUnset } from './shape.ts';

/** Returns the fields for the host that say a value, which is not null. */
export type Rule = (value: unknown, findings: Findings) => Fields;
export type Rules = ReadonlyMap<string, Rule>;

/** Applies the rules of all fields. One without a rule is refused. */
export function applyRules(rules: Rules, fields: Fields, findings: Findings): Fields {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === null || value === undefined) continue;
    const rule = rules.get(name);
    if (rule === undefined) findings.refuse(printableName(name), UNSAYABLE);
    else Object.assign(result, rule(value, findings));
  }
  return result;
}

/** The host has a field of this name. */
export function saidAs(name: string): Rule {
  return (value) => ({ [name]: value });
}

/** Without an effect on the answer, or translated by itself. */
export const passedOver: Rule = () => ({});

export function ignored(name: string): Rule {
  return (value, findings) => {
    if (!isUnset(value)) findings.ignore(name);
    return {};
  };
}

/** Only these values can be said: they are what hosts do unasked. */
export function onlyDefault(name: string, ...values: readonly unknown[]): Rule {
  return (value, findings) => {
    if (!values.includes(value)) findings.refuse(name, `expected ${values.join(' or ')}: ${UNSAYABLE}`);
    return {};
  };
}
