/** Parses the values of arguments and options. An invalid value is a usage error: exit status 2. */
import { InvalidArgumentError } from 'commander';
import { type BudgetWord, readBudget, readExpiry } from '../operator/budgets.ts';
import { keywordOr, type Reader, readModelId } from '../operator/input.ts';

/** The parser that commander calls. Commander would turn a value of null into an empty string. */
export function parseWith<T>(reader: Reader<T>): (text: string) => T {
  return (text) => {
    const reading = reader(text);
    if (reading.ok) return reading.value;
    throw new InvalidArgumentError(reading.expected);
  };
}

/** Parses a model id. Repeated ones are collected in a list. */
export function parseModelIds(text: string, previous: readonly string[] = []): string[] {
  return [...previous, parseWith(readModelId)(text)];
}

/** Parses what is to be done with a budget. Repeated ones are collected in a list. */
export function parseBudgets(text: string, previous: readonly BudgetWord[] = []): BudgetWord[] {
  return [...previous, parseWith(readBudget)(text)];
}

/** Parses when a key expires, counted from now. */
export function parseExpiryOrNever(text: string): number | 'never' {
  return parseWith(keywordOr('never', readExpiry(Date.now())))(text);
}
