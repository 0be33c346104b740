/** The values of arguments and options, as people type them. A wrong one is a fault of the words: exit status 2. */
import { InvalidArgumentError } from 'commander';
import { type Nanos, parseUsd } from '../core/money.ts';
import { faultOfName } from '../ledger/keys.ts';

/** A parser must not return null: commander would make an empty text of it. */
export function wholeNumber(maximum: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : 0;
    if (number < 1 || number > maximum) throw new InvalidArgumentError(`Expected a whole number from 1 to ${maximum}.`);
    return number;
  };
}

export function wholeNumberOrDefault(maximum: number): (text: string) => number | 'default' {
  const parse = wholeNumber(maximum);
  return (text) => (text === 'default' ? text : parse(text));
}

const USD_EXPECTED = 'Expected an amount of USD such as 25 or 0.50: nine decimals, and a billion, at most.';

export function amount(text: string): Nanos {
  const nanos = parseUsd(text);
  if (nanos === undefined) throw new InvalidArgumentError(USD_EXPECTED);
  return nanos;
}

export function amountOrNone(text: string): Nanos | 'none' {
  return text === 'none' ? text : amount(text);
}

export function amountAboveZero(text: string): Nanos {
  const nanos = amount(text);
  if (nanos === 0n) throw new InvalidArgumentError('Expected more than 0.');
  return nanos;
}

export function keyName(text: string): string {
  const fault = faultOfName(text);
  if (fault !== undefined) throw new InvalidArgumentError(`${fault[0]?.toUpperCase()}${fault.slice(1)}.`);
  return text;
}

/** A model's id; several of them gather in a list. */
export function modelId(text: string, earlier: readonly string[] = []): string[] {
  if (!/^[^/\s]+\/\S+$/.test(text))
    throw new InvalidArgumentError('Expected <provider>/<model>, such as openai/gpt-4o-mini.');
  return [...earlier, text];
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
