/** The values of arguments and options, as people type them. A wrong one is a fault of the words: exit status 2. */
import { InvalidArgumentError } from 'commander';
import { type Reader, readModelId } from '../operator/input.ts';

/** What a reader takes. It must not return null: commander would make an empty text of it. */
export function taking<T>(reader: Reader<T>): (text: string) => T {
  return (text) => {
    const reading = reader(text);
    if (reading.ok) return reading.value;
    throw new InvalidArgumentError(reading.expected);
  };
}

/** A model's id; several of them gather in a list. */
export function modelId(text: string, earlier: readonly string[] = []): string[] {
  return [...earlier, taking(readModelId)(text)];
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** A date, a time, or how long ago: `2026-11-01`, `2026-11-01T12:00:00Z`, `7d`, `12h`. Without a zone: UTC. */
export function moment(nowMs: number): (text: string) => number {
  return (text) => {
    const ago = /^(\d{1,6})([mhdw])$/.exec(text);
    if (ago !== null) return nowMs - Number(ago[1]) * (UNITS_MS[ago[2] as string] as number);
    const at = momentOf(text);
    if (at !== undefined) return at;
    throw new InvalidArgumentError(
      'Expected a date (2026-11-01), a time (2026-11-01T12:00:00Z), or how long ago (7d, 12h).',
    );
  };
}

function momentOf(text: string): number | undefined {
  const parts = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?)?$/.exec(text);
  if (parts === null) return undefined;
  const [, date = '', time = '00:00', zone = 'Z'] = parts;
  // Date would turn 30 February into 1 March.
  const midnight = Date.parse(`${date}T00:00:00Z`);
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== date) return undefined;
  const at = Date.parse(`${date}T${time}${zone}`);
  return Number.isNaN(at) ? undefined : at;
}
