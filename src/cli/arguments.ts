/** Parses the values of arguments and options. An invalid value is a usage error: exit status 2. */
import { InvalidArgumentError } from 'commander';
import { type Reader, readModelId } from '../operator/input.ts';

/** Returns the parser for commander. Commander would turn a null into an empty string. */
export function parseWith<T>(reader: Reader<T>): (text: string) => T {
  return (text) => {
    const reading = reader(text);
    if (reading.ok) return reading.value;
    throw new InvalidArgumentError(reading.expected);
  };
}

/** The same for arguments and options that may be repeated: it collects the values in a list. */
export function parseEach<T>(reader: Reader<T>): (text: string, previous?: readonly T[]) => T[] {
  return (text, previous = []) => [...previous, parseWith(reader)(text)];
}

export const parseModelIds = parseEach(readModelId);
